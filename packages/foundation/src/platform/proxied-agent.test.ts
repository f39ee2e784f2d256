import { fetch, getGlobalDispatcher, setGlobalDispatcher } from 'undici'
import { expect, onTestFinished, test } from 'vitest'
import { startSilentServer } from '../../../../tests/support/silent-tls.ts'
import { proxiedByDefault } from './proxied-agent.ts'

test('requests at the same time open their connections at the same time', async () => {
  const server = await startSilentServer()
  onTestFinished(() => server.close())
  const before = getGlobalDispatcher()
  onTestFinished(() => setGlobalDispatcher(before))
  proxiedByDefault({ of: () => null })
  const own = getGlobalDispatcher()
  onTestFinished(() => own.destroy())
  const over = new AbortController()
  const calls = Promise.allSettled(
    Array.from({ length: 4 }, () => fetch(server.url, { signal: over.signal })),
  )
  await server.opened(4)
  over.abort()
  expect((await calls).map(({ status }) => status)).toEqual(Array.from({ length: 4 }, () => 'rejected'))
})
