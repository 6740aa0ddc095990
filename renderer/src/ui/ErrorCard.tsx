import { Check, Copy, TriangleAlert, X } from 'lucide-react';
import { useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { ErrorBody } from '../../../main/contract/errors.ts';
import { describeError, type ErrorAction, errorActions, errorReport } from '../errors/describe.ts';
import { Button, IconButton } from './Button.tsx';
import { useFormat, useLanguage } from './studio-context.ts';

/** What happened, why, one thing to do, and the details folded away. */
export function ErrorCard({
  error,
  onAction,
  onDismiss,
}: {
  error: ErrorBody;
  /** Without it, or where it answers false beforehand, no button is shown. */
  onAction?: (action: ErrorAction) => void;
  onDismiss?: () => void;
}) {
  const { t } = useTranslation();
  const format = useFormat();
  const { title, why, fix } = describeError(error, useLanguage(), format);
  const [copied, setCopied] = useState(false);
  const action = errorActions[error.code];
  const report = errorReport(error);

  const shown = useRef<HTMLPreElement>(null);

  const copy = () => {
    // Selecting and copying needs no permission, which the shell grants to nobody.
    const selection = window.getSelection();
    if (selection === null || shown.current === null) return;
    selection.selectAllChildren(shown.current);
    if (!document.execCommand('copy')) return;
    setCopied(true);
    setTimeout(() => setCopied(false), 2000);
  };

  return (
    <div
      role="alert"
      data-testid="error-card"
      data-code={error.code}
      className="appear flex gap-3 rounded-lg bg-danger-wash p-3"
    >
      <TriangleAlert aria-hidden size={18} className="mt-0.5 flex-none text-danger-ink" />
      <div className="min-w-0 grow">
        <p className="font-semibold text-danger-ink">{title}</p>
        <p className="selectable mt-0.5 break-words">{why}</p>
        {fix !== '' && <p className="mt-0.5 text-ink-soft">{fix}</p>}
        <div className="mt-2 flex flex-wrap items-start gap-2">
          {action !== null && onAction !== undefined && (
            <Button kind="danger" className="min-h-8" onClick={() => onAction(action)}>
              {t(`error.actions.${action}`)}
            </Button>
          )}
          <details className="min-w-0 grow basis-40 py-1.5">
            <summary className="w-fit rounded text-ink-soft hover:text-ink">{t('error.details')}</summary>
            <div className="mt-2 flex items-start gap-1">
              <pre
                ref={shown}
                className="selectable max-h-40 min-w-0 grow overflow-auto whitespace-pre-wrap break-words rounded-md bg-surface p-2 font-mono text-xs"
              >
                {report}
              </pre>
              <IconButton
                icon={copied ? Check : Copy}
                label={copied ? t('error.copied') : t('error.copy')}
                onClick={copy}
              />
            </div>
          </details>
        </div>
      </div>
      {onDismiss !== undefined && <IconButton icon={X} label={t('error.dismiss')} onClick={onDismiss} />}
    </div>
  );
}
