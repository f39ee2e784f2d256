import { expect, test } from 'vitest'
import { heedsLesson } from '../../../tests/verifies.ts'
import type { WallReport } from '../../fleet/src/sandbox/wall-report.ts'
import { createBrowserProxyOpener } from './browser-proxy.ts'

const held: WallReport = { id: 'host-ports-closed', holds: true, detail: 'refused' }
const fallen: WallReport = { id: 'host-ports-closed', holds: false, detail: 'the canary answered' }

function anOpener() {
  const done: string[] = []
  const harness = {
    host: '10.64.1.1',
    now: 1000,
    look: async (): Promise<readonly WallReport[]> => [held],
  }
  const opener = createBrowserProxyOpener({
    containers: {
      prepare: async () => void done.push('prepare'),
      proxyPlace: () => ({ host: harness.host, port: 8421 }),
      checkWalls: () => {
        done.push('check')
        return harness.look()
      },
    },
    proxy: {
      listen: async ({ host }) => void done.push(`listen ${host}`),
      port: () => 8421,
      close: async () => void done.push('close'),
    },
    stopped: new AbortController().signal,
    clock: { now: () => harness.now, sleep: async () => {} },
    onOpen: (port) => done.push(`open ${port}`),
  })
  return { opener, harness, done }
}

const once = ['prepare', 'listen 10.64.1.1', 'open 8421', 'check']

test('the walls are tried once the proxy listens, and once for all who come', async () => {
  const { opener, done } = anOpener()
  expect(await Promise.all([opener.open(), opener.open()])).toEqual([{ port: 8421 }, { port: 8421 }])
  await opener.open()
  expect(done).toEqual(once)
})

test('a wall that does not hold is named, and the next who comes tries it again', async () => {
  heedsLesson(123)
  const { opener, harness, done } = anOpener()
  harness.look = async () => [held, fallen]
  await expect(opener.open()).rejects.toMatchObject({
    id: 'browser-walls-open',
    message: expect.stringContaining('host-ports-closed (the canary answered)'),
  })
  harness.look = async () => [held]
  expect(await opener.open()).toEqual({ port: 8421 })
  expect(done).toEqual([...once, 'prepare', 'check'])
})

test('a probe that cannot run opens nothing', async () => {
  const { opener, harness } = anOpener()
  harness.look = () => Promise.reject(new Error('no engine'))
  await expect(opener.open()).rejects.toThrow('no engine')
})

test('walls of browsers are tested again after doubt(), at the network’s current address', async () => {
  const { opener, harness, done } = anOpener()
  await opener.open()
  opener.doubt()
  expect(done).toEqual(once)
  await opener.open()
  opener.doubt()
  harness.host = '10.64.2.1'
  await opener.open()
  expect(done.slice(once.length)).toEqual([
    'prepare',
    'check',
    'prepare',
    'close',
    'listen 10.64.2.1',
    'open 8421',
    'check',
  ])
})

test('walls of browsers are tested again after ten minutes', async () => {
  const { opener, harness, done } = anOpener()
  await opener.open()
  harness.now += 10 * 60_000 - 1
  await opener.open()
  expect(done).toEqual(once)
  harness.now += 1
  harness.look = async () => [fallen]
  await expect(opener.open()).rejects.toMatchObject({ id: 'browser-walls-open' })
  expect(done.slice(once.length)).toEqual(['prepare', 'check'])
})

test('a check that was under way when the doubt came does not count', async () => {
  const { opener, harness } = anOpener()
  const looks: ((walls: readonly WallReport[]) => void)[] = []
  harness.look = () => new Promise((resolve) => looks.push(resolve))
  const opening = opener.open()
  await expect.poll(() => looks.length).toBe(1)
  opener.doubt()
  looks[0]?.([held])
  await expect.poll(() => looks.length).toBe(2)
  looks[1]?.([fallen])
  await expect(opening).rejects.toMatchObject({ id: 'browser-walls-open' })
})
