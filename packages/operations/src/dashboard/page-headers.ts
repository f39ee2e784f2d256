/**
 * Restricts a page to its own files and its own origin. The pages show text of agents, so inline code and `eval` are
 * blocked, and no string can become markup or script: no Trusted Types policy exists that could allow it.
 */
export const pageHeaders = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    // Allows images that the page created from bytes that it verified to be images.
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

/** File names contain a hash of the content; shared caches must not store what only an owner may read. */
export const assetHeaders = { 'cache-control': 'private, max-age=31536000, immutable' } as const
