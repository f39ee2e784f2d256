import { connect } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Caller } from '../access/index.ts'
import { patience } from '../../../../tests/support/patience.ts'
import { silentLog } from '../../../foundation/src/platform/log.ts'
import { createDownloadRoom, downloadLimits, downloadObstacle } from './download-room.ts'
import { createServer } from './server.ts'

const { perPersonMax, totalMax } = downloadLimits
const times = (count: number, person: string | null) => Array.from({ length: count }, () => person)
const named = (person: string): Caller => ({ kind: 'human', channel: 'api', role: 'viewer', person })
const patient = { stalledMaxMs: 60_000, takingMaxMs: 60_000 }

/** More bytes than the socket buffers at both ends of a loopback connection hold. */
const fileBytes = 8 * 1024 * 1024

describe('room for one more download', () => {
  test('room for one more download is for each person as long as they have fewer than one may have', () => {
    expect(downloadObstacle(times(perPersonMax - 1, 'vic'), 'vic')).toBeNull()
    expect(downloadObstacle(times(perPersonMax, 'vic'), 'vic')).toMatch(/^vic has 4 downloads/)
    expect(downloadObstacle(times(perPersonMax, 'vic'), 'ann')).toBeNull()
    expect(downloadObstacle(times(perPersonMax, null), null)).toMatch(/^the owner has 4 downloads/)
  })

  test('room for one more download is never taken from the owner by all others, and all together stay below the bound', () => {
    const others = ['a', 'b', 'c'].flatMap((person) => times(perPersonMax, person))
    expect(downloadObstacle(others, 'd')).toMatch(/^12 downloads are in progress/)
    expect(downloadObstacle(others, null)).toBeNull()
    expect(others.length + perPersonMax).toBe(totalMax)
  })
})

/** An API that sends files through the download room, and counters of its reads and connections. */
async function aServer(
  waits: Parameters<typeof createDownloadRoom>[0],
  read?: (gone: AbortSignal) => Promise<Buffer>,
) {
  const server = createServer(silentLog)
  const room = createDownloadRoom(waits)
  let reads = 0
  server.get('/file/:person', async (request, reply) => {
    const { person } = request.params as { person: string }
    const bytes = await room.pass({ caller: named(person), reply }, async (gone) => {
      reads++
      return read ? read(gone) : Buffer.alloc(fileBytes, 65)
    })
    await reply.type('application/octet-stream').send(bytes)
    return reply
  })
  await server.listen({ port: 0, host: '127.0.0.1' })
  const { port } = server.server.address() as AddressInfo
  const sockets: Socket[] = []
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy()
    await server.close()
  })
  const send = (person: string) => {
    const socket = connect(port, '127.0.0.1', () =>
      socket.write(`GET /file/${person} HTTP/1.1\r\nhost: here\r\n\r\n`),
    )
    socket.on('error', () => {})
    sockets.push(socket)
    return socket
  }
  /** Reads the head of the response and nothing after it. */
  const slowReader = (person: string) =>
    new Promise<{ socket: Socket; head: string }>((resolve) => {
      const socket = send(person)
      socket.once('data', (bytes: Buffer) => {
        socket.pause()
        resolve({ socket, head: String(bytes.subarray(0, 1000)) })
      })
    })
  const url = `http://127.0.0.1:${port}`
  return { url, send, slowReader, reads: () => reads, open: () => openSockets(server.server) }
}

const openSockets = (server: { getConnections(done: (error: unknown, count: number) => void): void }) =>
  new Promise<number>((resolve) => server.getConnections((_error, count) => resolve(count)))

describe('downloads that the client does not read', () => {
  test('downloads that the client does not read are bounded: the next is refused with its repair before anything is read for it', async () => {
    const { slowReader, reads } = await aServer(patient)
    const taken = []
    for (let at = 0; at < perPersonMax; at++) taken.push(await slowReader('vic'))
    for (const { head } of taken) expect(head).toMatch(/^HTTP\/1.1 200/)
    const { head } = await slowReader('vic')
    expect(head).toMatch(/^HTTP\/1.1 429/)
    expect(head).toContain('Wait until a download has ended')
    expect(head.toLowerCase()).toContain('retry-after')
    expect(reads()).toBe(perPersonMax)
    expect((await slowReader('ann')).head).toMatch(/^HTTP\/1.1 200/)

    taken[0]?.socket.destroy()
    await expect
      .poll(async () => (await slowReader('vic')).head, { timeout: 10_000 })
      .toMatch(/^HTTP\/1.1 200/)
  })

  test('downloads that the client does not read are closed, and their slots are free again', async () => {
    const { slowReader, open, url } = await aServer({ ...patient, stalledMaxMs: 200 })
    for (let at = 0; at < perPersonMax; at++) await slowReader('vic')
    await expect.poll(open, { timeout: 20_000 }).toBe(0)
    // On a busy machine this reader may pause for as long, too.
    const whole = () =>
      fetch(`${url}/file/vic`)
        .then((reply) => reply.arrayBuffer())
        .then(
          ({ byteLength }) => byteLength,
          () => 0,
        )
    await expect.poll(whole, { timeout: 20_000 * patience }).toBe(fileBytes)
  })

  test('downloads of a client that takes next to nothing are closed after a total time', async () => {
    const { slowReader, open } = await aServer({ ...patient, takingMaxMs: 200 })
    await slowReader('vic')
    await expect.poll(open, { timeout: 20_000 }).toBe(0)
  })

  test('keep their slot until the aborted read has ended', async () => {
    const gone: AbortSignal[] = []
    let end: () => void = () => {}
    const ended = new Promise<void>((resolve) => (end = resolve))
    const { send, slowReader } = await aServer(patient, async (signal) => {
      gone.push(signal)
      await ended
      return Buffer.from('late')
    })
    const waiting = times(perPersonMax, 'vic').map(() => send('vic'))
    await expect.poll(() => gone.length, { timeout: 10_000 }).toBe(perPersonMax)
    for (const socket of waiting) socket.destroy()
    await expect.poll(() => gone.every(({ aborted }) => aborted), { timeout: 10_000 }).toBe(true)
    expect((await slowReader('vic')).head).toMatch(/^HTTP\/1.1 429/)
    end()
    await expect
      .poll(async () => (await slowReader('vic')).head, { timeout: 10_000 })
      .toMatch(/^HTTP\/1.1 200/)
  })
})

test('one after the other on the same line, any number are taken', async () => {
  const { url } = await aServer({ ...patient, stalledMaxMs: 30_000 })
  for (let at = 0; at < 2 * perPersonMax; at++) {
    const reply = await fetch(`${url}/file/vic`)
    expect([reply.status, (await reply.arrayBuffer()).byteLength]).toEqual([200, fileBytes])
  }
})
