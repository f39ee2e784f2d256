import { expect, onTestFinished, test } from 'vitest'
import { createManualClock } from '../../../protocol/src/testing/manual-clock.ts'
import type { HumanCaller } from '../../../identity/src/access/index.ts'
import { createDownloadRoom, downloadLimits } from '../../../identity/src/http/download-room.ts'
import type { DownloadRoom } from '../../../identity/src/http/download-room.ts'
import { openPeople } from '../../../identity/src/http/open-surfaces.ts'
import { createServer } from '../../../identity/src/http/server.ts'
import { silentLog } from '../../../foundation/src/platform/log.ts'
import type { Artifacts } from './artifacts.ts'
import { artifactPeopleRoutes } from './people.routes.ts'

const caller: HumanCaller = { kind: 'human', channel: 'api', role: 'viewer', person: 'vic' }

/** Serves only the artifact routes of the people's API; the test decides when a read ends. */
function aServer(downloads: DownloadRoom, read: () => Promise<Buffer>) {
  const server = createServer(silentLog)
  const artifacts = { read: async () => ({ content: await read() }) } as unknown as Artifacts
  openPeople(server, [{ routes: { people: (surface) => artifactPeopleRoutes(surface, artifacts) } }], {
    gate: () => caller,
    guard: () => {},
    people: { onChange: () => {}, isProven: () => false },
    clock: createManualClock(),
    keepAliveMs: 1000,
    downloads,
  })
  onTestFinished(() => server.close())
  return () => server.inject({ method: 'GET', url: '/api/artifacts/bob/report.pdf' })
}

test('concurrent downloads of artifacts by one person are bounded across both APIs', async () => {
  let reads = 0
  let end: (content: Buffer) => void = () => {}
  const ended = new Promise<Buffer>((resolve) => (end = resolve))
  const read = () => {
    reads++
    return ended
  }
  const room = createDownloadRoom()
  const [take, takeOutside] = [aServer(room, read), aServer(room, read)]
  const { perPersonMax } = downloadLimits
  const waiting = Array.from({ length: perPersonMax }, (_, at) => (at % 2 === 0 ? take() : takeOutside()))
  await expect.poll(() => reads, { timeout: 10_000 }).toBe(perPersonMax)
  for (const one of [take, takeOutside])
    expect((await one()).json()).toMatchObject({ code: 'rate-limited', status: 429 })
  expect(reads).toBe(perPersonMax)
  end(Buffer.from('whole'))
  for (const reply of await Promise.all(waiting))
    expect([reply.statusCode, reply.body]).toEqual([200, 'whole'])
  expect((await take()).statusCode).toBe(200)
})
