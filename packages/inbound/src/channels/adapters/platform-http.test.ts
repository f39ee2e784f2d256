import { expect, onTestFinished, test } from 'vitest'
import { startSilentServer } from '../../../../../tests/support/silent-tls.ts'
import { createPlatformHttp } from './platform-http.ts'

test('calls to a chat platform at the same time open their connections at the same time', async () => {
  const server = await startSilentServer()
  const http = createPlatformHttp({ of: () => null })
  onTestFinished(() => http.close())
  const { signal } = new AbortController()
  const call = { method: 'GET', url: new URL(server.url), headers: {}, body: null, maxBytes: 1000 } as const
  const calls = Promise.allSettled(Array.from({ length: 4 }, () => http.call(call, signal)))
  await server.opened(4)
  await server.close()
  expect((await calls).map(({ status }) => status)).toEqual(Array.from({ length: 4 }, () => 'rejected'))
})
