/** `node --import register.mjs dist/app/main.mjs`: the app's own bundle, with `electron` resolved to the stand-in. */
import { register } from 'node:module';

const target = new URL('./electron.mjs', import.meta.url).href;
const hook = `export function resolve(name, context, next) {
  return name === 'electron' ? { url: ${JSON.stringify(target)}, shortCircuit: true } : next(name, context);
}`;
register(`data:text/javascript,${encodeURIComponent(hook)}`);
