import { Tooltip } from 'radix-ui';
import { Activity, useEffect } from 'react';
import { useTranslation } from 'react-i18next';
import { listenForKeys } from './actions/listen.ts';
import { GenerateScreen } from './screens/generate/GenerateScreen.tsx';
import { MemoryScreen } from './screens/memory/MemoryScreen.tsx';
import { Announcer } from './shell/Announcer.tsx';
import { Boundary } from './shell/Boundary.tsx';
import { CheatSheet } from './shell/CheatSheet.tsx';
import { ConnectionBanner } from './shell/ConnectionBanner.tsx';
import { Notices } from './shell/Notices.tsx';
import { Player } from './shell/Player.tsx';
import { Rail } from './shell/Rail.tsx';
import { TopBar } from './shell/TopBar.tsx';
import { selectRunningJob } from './store/jobs.ts';
import { useFormat, useStudio, useStudioState } from './ui/studio-context.ts';

export function App() {
  const studio = useStudio();
  const screen = useStudioState((state) => state.screen);
  useEffect(() => listenForKeys(studio, window), [studio]);
  return (
    <Tooltip.Provider delayDuration={500} skipDelayDuration={200}>
      <div className="flex h-full flex-col">
        <TopBar />
        <ConnectionBanner />
        <div className="flex min-h-0 grow">
          <Rail />
          <main className="min-w-0 grow">
            {/* Kept while another screen shows, so that the script keeps its undo history and its place. */}
            <Activity mode={screen === 'generate' ? 'visible' : 'hidden'}>
              <Boundary>
                <GenerateScreen />
              </Boundary>
            </Activity>
            {screen === 'memory' && (
              <Boundary>
                <MemoryScreen />
              </Boundary>
            )}
          </main>
        </div>
        <Boundary>
          <Player />
        </Boundary>
      </div>
      <CheatSheet />
      <Notices />
      <Announcer />
      <WindowTitle />
    </Tooltip.Provider>
  );
}

/** The title shows how far the running job is, for when the window is behind others. */
function WindowTitle() {
  const { i18n } = useTranslation();
  const format = useFormat();
  const fraction = useStudioState((state) => {
    const job = selectRunningJob(state);
    return job?.progress == null ? null : Math.round(job.progress.fraction * 100) / 100;
  });
  useEffect(() => {
    document.title = fraction === null ? 'Mizuoto Studio' : `${format.percent(fraction)} · Mizuoto Studio`;
    document.documentElement.lang = i18n.language;
  }, [fraction, format, i18n.language]);
  return null;
}
