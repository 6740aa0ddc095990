// Runs before the first paint, as a file of its own because the page's policy forbids inline scripts. The host owns
// the settings; this is only the copy that the page kept of the last ones, so that no wrong theme ever flashes.
(() => {
  const root = document.documentElement;
  let kept = {};
  try {
    kept = JSON.parse(localStorage.getItem('mizuoto.appearance') ?? '{}') ?? {};
  } catch {
    // Storage is off or holds nonsense: the system's theme and language it is.
  }
  if (kept.theme === 'dark' || kept.theme === 'light') root.dataset.theme = kept.theme;
  const language = kept.language === 'en' || kept.language === 'zh-CN' ? kept.language : navigator.language;
  root.lang = /^zh/i.test(language) ? 'zh-CN' : 'en';
})();
