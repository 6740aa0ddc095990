import './zod-without-eval.ts';
import './styles/index.css';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { I18nextProvider } from 'react-i18next';
import { App } from './App.tsx';
import { followAppearance } from './appearance.ts';
import { openWebAudio } from './audio/web-audio-output.ts';
import { openBridge } from './bridge/index.ts';
import type { StudioBridge } from './bridge/types.ts';
import { createI18n } from './i18n/index.ts';
import { keeper } from './store/keep.ts';
import { keepDraft } from './store/keep-draft.ts';
import { createStudio } from './store/studio.ts';
import { startSync } from './store/sync.ts';
import { StudioContext } from './ui/studio-context.ts';

function storage(): Storage | null {
  try {
    return window.localStorage;
  } catch {
    return null;
  }
}

function start(bridge: StudioBridge): void {
  const studio = createStudio({
    bridge,
    keeper: keeper(storage()),
    openOutput: openWebAudio,
    now: Date.now,
    setTimeout: (callback, milliseconds) => window.setTimeout(callback, milliseconds),
    clearTimeout: (id) => window.clearTimeout(id),
    setInterval: (callback, milliseconds) => window.setInterval(callback, milliseconds),
    clearInterval: (id) => window.clearInterval(id),
  });
  // before-paint.js has set the language that the page had last.
  const language = createI18n(document.documentElement.lang === 'zh-CN' ? 'zh-CN' : 'en');
  followAppearance(studio, language, document.documentElement);
  keepDraft(studio, window);
  startSync(studio);

  createRoot(document.getElementById('root')!).render(
    <StrictMode>
      <I18nextProvider i18n={language}>
        <StudioContext value={studio}>
          <App />
        </StudioContext>
      </I18nextProvider>
    </StrictMode>,
  );
}

void openBridge().then(start);
