/**
 * The policy of the studio's page, the same in the shell and in the served page: nothing but its own files; no
 * inline script or style, no eval, no frames, no plugins; audio from memory (`blob:`).
 */
export const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "media-src 'self' blob:",
  "font-src 'self'",
  "connect-src 'self'",
  "object-src 'none'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');
