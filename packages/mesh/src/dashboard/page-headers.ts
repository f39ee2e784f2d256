/**
 * What a page of ours may do: load its own files and call its own origin, nothing else. Text of agents is on these pages,
 * so nothing inline runs, nothing is evaluated, and no string is ever made into markup or script, by anybody: there is no
 * policy of Trusted Types that could.
 */
export const pageHeaders = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    // Pictures that the page itself made of bytes which it knew as such.
    "img-src 'self' blob:",
    "font-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; '),
  // A page names the files of one build; the next start may have another.
  'cache-control': 'no-store',
} as const

/** Files are named by their content; a shared cache may not keep what only an owner may have. */
export const assetHeaders = { 'cache-control': 'private, max-age=31536000, immutable' } as const
