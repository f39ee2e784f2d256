import { expect, test } from 'vitest'
import { whyNotFetched } from './why-not-fetched.ts'

const unreachable = 'the engine cannot reach the registry of the image'
const nameOrLogin = 'the registry has no image with that name, or requires a login'
const noName = 'the registry has no image with that name'

test.each([
  [
    'Get "https://registry-1.docker.io/v2/": dial tcp: lookup registry-1.docker.io: connection refused',
    unreachable,
  ],
  ['Get "https://registry-1.docker.io/v2/": net/http: TLS handshake timeout', unreachable],
  ['The operation was aborted due to timeout', unreachable],
  ['proxyconnect tcp: dial tcp 10.0.0.1:3128: connect: permission denied', unreachable],
  ['proxyconnect tcp: Proxy Authentication Required', unreachable],
  ['Head "https://registry.example/v2/a/manifests/1": unexpected EOF', unreachable],
  [
    'toomanyrequests: You have reached your pull rate limit',
    'the registry of the image has limited further downloads for now',
  ],
  ['pull access denied for debain, repository does not exist or may require login', nameOrLogin],
  ['denied: requested access to the resource is denied', nameOrLogin],
  ['unauthorized: authentication required', nameOrLogin],
  ['Get "https://registry.example/v2/a/manifests/1": no basic auth credentials', nameOrLogin],
  ['manifest for debian:nosuch not found: manifest unknown', noName],
  ['failed to resolve reference "docker.io/library/debain:1": docker.io/library/debain:1: not found', noName],
  [
    'tls: failed to verify certificate: x509: certificate signed by unknown authority',
    'the engine does not trust the certificate of the registry',
  ],
])('a refused fetch of %s is explained, with the engine’s own words', (words, why) => {
  expect(whyNotFetched(new Error(words))).toBe(`${why} (the engine said: ${words})`)
})

test.each([
  'open /var/lib/docker/tmp/GetImageBlob1: permission denied',
  'error getting credentials - err: exec: "docker-credential-desktop": executable file not found in $PATH',
  'remote error: tls: handshake failure',
  'remote error: tls: certificate required',
  'connect ECONNREFUSED /var/run/docker.sock',
  'write /var/lib/docker/tmp/GetImageBlob1: no space left on device',
])('a refused fetch of %s, which no registry sends, is reported in the engine’s words', (words) => {
  expect(whyNotFetched(new Error(words))).toBe(`the engine said: ${words}`)
})

test('the engine’s message is shortened to one line without its leading status', () => {
  expect(whyNotFetched(new Error('(HTTP code 500) server error - no space\n left on device.'))).toBe(
    'the engine said: no space left on device',
  )
  expect(whyNotFetched(new Error(`x509: ${'x'.repeat(9_000)}`)).length).toBeLessThan(400)
})
