import { X } from 'lucide-react';
import { Toast } from 'radix-ui';
import { useTranslation } from 'react-i18next';
import type { Said } from '../../../main/contract/said.ts';
import { describeError } from '../errors/describe.ts';
import { sayIn } from '../i18n/said.ts';
import { forgetDeleted, saveJob, undoDelete, undoRestore } from '../store/commands.ts';
import { dismissNotice } from '../store/notices.ts';
import type { Notice } from '../store/ui.ts';
import { IconButton } from '../ui/Button.tsx';
import { useFormat, useLanguage, useStudio, useStudioState } from '../ui/studio-context.ts';

/** Short words at the lower edge that go by themselves; undo lives here. */
export function Notices() {
  const { t } = useTranslation();
  const notices = useStudioState((state) => state.notices);
  return (
    <Toast.Provider label={t('notices.label')} swipeDirection="right" duration={7000}>
      {notices.map(({ id, notice }) => (
        <NoticeToast key={id} id={id} notice={notice} />
      ))}
      <Toast.Viewport
        label={t('notices.label')}
        className="fixed right-4 bottom-26 z-50 flex w-66 max-w-[calc(100vw-2rem)] max-md:w-auto max-md:left-4 flex-col gap-2"
      />
    </Toast.Provider>
  );
}

function NoticeToast({ id, notice }: { id: number; notice: Notice }) {
  const { t } = useTranslation();
  const studio = useStudio();
  const action = noticeAction(notice);
  const close = () => {
    if (notice.kind === 'deleted') forgetDeleted(studio, notice.jobId);
    dismissNotice(studio, id);
  };
  const act = () => {
    if (notice.kind === 'deleted') undoDelete(studio, id, notice.jobId);
    if (notice.kind === 'restored') undoRestore(studio, id, notice.before);
    if (notice.kind === 'failed' && notice.saveJob !== undefined) {
      dismissNotice(studio, id);
      void saveJob(studio, notice.saveJob);
    }
  };
  return (
    <Toast.Root
      type={notice.kind === 'failed' || notice.kind === 'warning' ? 'foreground' : 'background'}
      onOpenChange={(open) => !open && close()}
      data-testid={`notice-${notice.kind}`}
      className="appear flex items-center gap-1 rounded-xl bg-ink py-2 pr-2 pl-4 text-background shadow-[0_12px_32px_var(--shadow)]"
    >
      <Toast.Description
        className={`${notice.kind === 'warning' ? 'line-clamp-8' : 'line-clamp-4'} min-w-0 grow break-words py-1`}
      >
        <NoticeText notice={notice} />
      </Toast.Description>
      {action !== null && (
        <Toast.Action
          altText={t(action)}
          onClick={act}
          className="flex-none rounded-lg px-2.5 py-1 font-semibold underline decoration-1 underline-offset-4 hover:bg-background/15"
        >
          {t(action)}
        </Toast.Action>
      )}
      <Toast.Close asChild>
        <IconButton
          icon={X}
          label={t('notices.close')}
          className="text-background/80! hover:bg-background/15! hover:text-background!"
        />
      </Toast.Close>
    </Toast.Root>
  );
}

/** The Memory screen has the whole paths. */
function briefly(said: Said): Said {
  const name = (path: string) => path.replace(/^.*[\\/](?=[^\\/])/, '');
  const params = Object.entries(said.params).map(([key, value]) => [
    key,
    typeof value === 'string' && (key === 'path' || key === 'aside') ? name(value) : value,
  ]);
  return { ...said, params: Object.fromEntries(params) };
}

function noticeAction(notice: Notice): 'notices.undo' | 'error.actions.save_again' | null {
  if (notice.kind === 'deleted' || notice.kind === 'restored') return 'notices.undo';
  if (notice.kind === 'failed' && notice.saveJob !== undefined) return 'error.actions.save_again';
  return null;
}

function NoticeText({ notice }: { notice: Notice }) {
  const { t } = useTranslation();
  const format = useFormat();
  const language = useLanguage();
  switch (notice.kind) {
    case 'saved':
      return t(notice.inBrowser ? 'notices.downloading' : 'notices.saved', { path: notice.path });
    case 'deleted':
      return t('notices.deleted', { title: notice.title });
    case 'restored':
      return t('notices.restored');
    case 'freed':
      return t('notices.freed', { model: notice.model, bytes: format.bytes(notice.bytes) });
    case 'limit':
      return notice.limitMb === null
        ? t('notices.noLimit')
        : t('notices.limit', { limit: format.mebibytes(notice.limitMb) });
    case 'warning':
      return sayIn(briefly(notice.said), language, format);
    case 'failed': {
      const { title, why, fix } = describeError(notice.error, language, format);
      return (
        <>
          <span className="block font-semibold">{title}</span>
          {why} {fix}
        </>
      );
    }
  }
}
