import { KeyRound, LoaderCircle, Unplug } from 'lucide-react';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Button } from '../ui/Button.tsx';
import { useStudio, useStudioState } from '../ui/studio-context.ts';

/** Named steps while connecting, and what to do when nobody answers. */
export function ConnectionBanner() {
  const { t } = useTranslation();
  const studio = useStudio();
  const connection = useStudioState((state) => state.connection);
  const waited = useWaited(connection.status === 'connecting' ? connection.since : null, studio.parts.now);
  if (connection.status === 'ready') return null;

  if (connection.status === 'connecting') {
    // A start that takes a blink needs no words.
    if (waited < 0.6) return null;
    return (
      <div
        role="status"
        data-testid="connecting"
        className="mx-4 mb-2 flex items-center gap-3 rounded-lg bg-accent-wash px-3 py-2 text-accent-ink"
      >
        <LoaderCircle aria-hidden size={16} className="flex-none animate-spin" />
        <p>
          {t(`connection.${connection.step}`)} {waited > 5 && t('connection.slow')}
        </p>
      </div>
    );
  }
  const noKey = connection.error.code === 'forbidden';
  return (
    <div
      role="alert"
      data-testid="connection-lost"
      className="mx-4 mb-2 flex flex-wrap items-center gap-x-3 gap-y-2 rounded-lg bg-warning-wash px-3 py-2 text-warning-ink"
    >
      {noKey ? <KeyRound aria-hidden size={16} /> : <Unplug aria-hidden size={16} />}
      <p className="min-w-0 grow basis-60">
        {noKey ? (
          <>
            <span className="font-semibold">{t('connection.forbiddenTitle')}</span>
            <span className="block">{t('connection.forbiddenText')}</span>
          </>
        ) : (
          <>
            {t('connection.lost')} {t('connection.retrying')}
          </>
        )}
      </p>
      {!noKey && studio.bridge.reconnect !== undefined && (
        <Button className="min-h-8" onClick={() => studio.bridge.reconnect?.()}>
          {t('connection.retryNow')}
        </Button>
      )}
    </div>
  );
}

/** Seconds since a moment, told twice a second; 0 without one. */
function useWaited(since: number | null, now: () => number): number {
  const [waited, setWaited] = useState(0);
  useEffect(() => {
    setWaited(0);
    if (since === null) return;
    const timer = setInterval(() => setWaited((now() - since) / 1000), 500);
    return () => clearInterval(timer);
  }, [since, now]);
  return waited;
}
