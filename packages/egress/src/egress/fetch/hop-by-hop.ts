/** Headers about one connection, which a proxy must not forward (RFC 9110, section 7.6.1). */
export const hopByHopHeaders: readonly string[] = [
  'connection',
  'http2-settings',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authentication-info',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]
