import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import * as fs from 'node:fs'
import { request } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { eventFrameSchema } from '@flotilla/protocol/dashboard-api'
import type { EventFrame } from '@flotilla/protocol/dashboard-api'
import type { Clock } from '@flotilla/protocol/clock'
import { personTokenPrefix } from '@flotilla/protocol/people'
import { stampOf } from '@flotilla/protocol/built-program'
import type { FastifyInstance } from 'fastify'
import { afterEach, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { heedsLesson, verifies } from '../../../../tests/verifies.ts'
import { createEventBus } from '../../../foundation/src/events/create-event-bus.ts'
import type { EventBus } from '../../../foundation/src/events/event-bus.ts'
import { answerHeaders } from '../../../identity/src/http/answer-headers.ts'
import { connectionBounds } from '../../../identity/src/http/bound-connections.ts'
import type { KnownPeople } from '../../../identity/src/http/gates/known-people.ts'
import { createHumanGate } from '../../../identity/src/http/gates/people-gate.ts'
import { signSession } from '../../../identity/src/http/gates/session-cookie.ts'
import { createDownloadRoom } from '../../../identity/src/http/download-room.ts'
import { openPeople } from '../../../identity/src/http/open-surfaces.ts'
import { createServer } from '../../../identity/src/http/server.ts'
import { socketLimits } from '../../../identity/src/http/socket-room.ts'
import { silentLog } from '../../../foundation/src/platform/log.ts'
import { systemClock } from '../../../foundation/src/platform/system-clock.ts'
import { openDatabase } from '../../../foundation/src/storage/database.ts'
import { allMigrations } from '../../../foundation/src/storage/migrations/all-migrations.ts'
import { migrate } from '../../../foundation/src/storage/migrate.ts'
import type { Kernel } from '../../../identity/src/kernel/kernel.ts'
import { dashboardModule } from './index.ts'

const token = 'a token of a hosted mesh'
const servers: FastifyInstance[] = []
const folders: string[] = []
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close()
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

const ownsNone = { agents: [], identities: [], token_sha256: null, token_expires_at: null }
const nobody: KnownPeople = {
  broken: () => null,
  byToken: () => null,
  byUser: () => null,
  ownerBy: () => null,
  onChange: () => {},
  isProven: () => false,
}

/** A people's API that is reachable from other machines, with the pages of a minimal build. */
async function aHostedServer({
  built = true,
  keepAliveMs = 15_000,
  people = nobody,
  clock = systemClock,
} = {}) {
  const repositoryRoot = mkdtempSync(join(tmpdir(), 'flotilla-pages-'))
  folders.push(repositoryRoot)
  if (built) buildSmall(repositoryRoot)
  const database = openDatabase(':memory:')
  migrate(database, allMigrations)
  const events = createEventBus({ database, clock: systemClock, log: silentLog })
  const server = createServer(silentLog, connectionBounds, answerHeaders)
  servers.push(server)
  const kernel = { guard: () => {}, events } as unknown as Kernel
  const runs = { queries: { find: (id: string) => (id === 'run_0000000000000001' ? {} : null) } }
  openPeople(server, [dashboardModule(kernel, { repositoryRoot, runs })], {
    gate: createHumanGate({
      clock,
      accessToken: () => token,
      home: { id: 'home', folder: '/home' },
      direct: null,
      people,
    }),
    guard: () => {},
    people,
    keepAliveMs,
    downloads: createDownloadRoom(),
    clock,
  })
  const url = await server.listen({ port: 0, host: '127.0.0.1' })
  const cookie = `ol_session=${signSession(token, { nowMs: systemClock.now(), seconds: 60 })}`
  const get = (path: string, headers: Record<string, string> = { cookie }) => fetch(url + path, { headers })
  return { url, cookie, events, get, server }
}

function buildSmall(root: string): void {
  const folder = join(root, 'dist', 'programs', 'dashboard-0')
  mkdirSync(join(folder, 'assets'), { recursive: true })
  const files = { 'index.html': '<!doctype html><title>Flotilla</title>', 'assets/index-1.js': 'export {}' }
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  writeFileSync(join(root, 'dist', 'secret.js'), 'secret')
  const outputs = Object.fromEntries(
    Object.keys(files).map((name) => [join(folder, name), stampOf(fs, join(folder, name))]),
  )
  const record = { root, main: join(folder, 'index.html'), inputs: {}, outputs }
  writeFileSync(join(root, 'dist', 'programs', 'dashboard.json'), JSON.stringify(record))
}

const pages = [
  '/',
  '/chat',
  '/chat/scribe',
  '/fleet',
  '/runs',
  '/runs/run_1',
  '/approvals',
  '/costs',
  '/journal',
]

function publish(events: EventBus, count: number, size = 10): void {
  for (let step = 0; step < count; step++) {
    events.publish({
      type: 'tool.ended',
      agent_id: 'a',
      run_id: 'run_0000000000000001',
      step,
      name: 'x',
      output: 'x'.repeat(size),
      ok: true,
    })
  }
}

async function openSocket(url: string, cookie: string, since = 0) {
  const frames: EventFrame[] = []
  const socket = new WebSocket(`${url.replace('http', 'ws')}/ws/events?since=${since}`, {
    headers: { cookie, origin: url },
  })
  socket.on(
    'message',
    (data: Buffer) => void frames.push(eventFrameSchema.parse(JSON.parse(data.toString()))),
  )
  await once(socket, 'open')
  const seqs = () => frames.flatMap((frame) => (frame.type === 'event' ? [frame.event.seq] : []))
  return { socket, frames, seqs }
}

/** Opens sockets until one is refused and returns how many were open. */
async function openUntilRefused(url: string, headers: Record<string, string>, most: number) {
  const path = `${url.replace('http', 'ws')}/ws/events?since=0`
  for (let count = 0; count < most; count++) {
    const socket = new WebSocket(path, { headers })
    socket.on('error', () => undefined)
    const opened = once(socket, 'open').then(() => null)
    const refused = once(socket, 'unexpected-response').then(([, answer]) => answer as IncomingMessage)
    const answer = await Promise.race([opened, refused])
    if (answer !== null) return { count, answer, text: await readAll(answer) }
  }
  return { count: most, answer: null, text: '' }
}

async function readAll(answer: IncomingMessage): Promise<string> {
  let text = ''
  for await (const part of answer) text += String(part)
  return text
}

/** Returns the HTTP status with which a socket is refused. */
async function refusal(url: string, headers: Record<string, string>): Promise<number | undefined> {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/ws/events?since=0`, { headers })
  socket.on('error', () => undefined)
  const [, answer] = (await once(socket, 'unexpected-response')) as [unknown, IncomingMessage]
  answer.resume()
  return answer.statusCode
}

describe('the sockets of one person', () => {
  it('sockets are limited for each person with a reason and a repair, and the owner keeps room', async () => {
    const vic = { ...ownsNone, name: 'vic', role: 'viewer' } as const
    const byToken = (text: string) => (text === `${personTokenPrefix}vic` ? vic : null)
    const { url, cookie } = await aHostedServer({ people: { ...nobody, byToken } })
    const headers = { authorization: `Bearer ${personTokenPrefix}vic` }
    const { count, answer, text } = await openUntilRefused(url, headers, 130)
    expect(count).toBe(socketLimits.perPersonMax)
    expect(answer?.statusCode).toBe(429)
    expect(JSON.parse(text)).toMatchObject({
      code: 'rate-limited',
      detail: expect.stringContaining('vic has 16 open event connections'),
      repair: expect.stringContaining('Close a page'),
    })
    const { socket } = await openSocket(url, cookie)
    expect(socket.readyState).toBe(socket.OPEN)
  })
})

describe('the API of the dashboard', () => {
  it('every page, every file and the socket require a session', async () => {
    heedsLesson(116)
    verifies('authentication:dashboard:cookie-required', 'purpose:auth-gate:engine-consumes-cookie')
    const { url, cookie, get } = await aHostedServer()
    const forged = `ol_session=${signSession('another token', { nowMs: systemClock.now(), seconds: 60 })}`
    const refused: Record<string, string>[] = [
      {},
      { cookie: forged },
      { cookie: 'ol_session=9999999999.00' },
      { cookie, authorization: 'Bearer token-of-an-agent' },
      { cookie, 'x-api-key': 'token-of-an-agent' },
    ]
    for (const path of [...pages, '/assets/index-1.js', '/api/runs/run_0000000000000001/events']) {
      for (const headers of refused) {
        const reply = await get(path, headers)
        expect(reply.status, `${path} ${JSON.stringify(headers)}`).toBe(401)
        expect(reply.headers.get('cache-control')).toBe('no-store')
      }
      expect((await get(path)).status, path).toBe(200)
    }
    for (const headers of refused) expect(await refusal(url, headers)).toBe(401)
    expect(await refusal(url, { cookie, origin: 'https://elsewhere.example' })).toBe(403)
  })

  it('every page is the same document with a policy that blocks inline code', async () => {
    verifies('limits:dashboard-csp')
    const { get } = await aHostedServer()
    for (const path of pages) {
      const reply = await get(path)
      expect(await reply.text()).toContain('<title>Flotilla</title>')
      const policy = reply.headers.get('content-security-policy') ?? ''
      expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self'")
      expect(policy).toContain("require-trusted-types-for 'script'; trusted-types 'none'")
      expect(policy).not.toContain('unsafe')
      expect(reply.headers.get('x-frame-options')).toBe('DENY')
      expect(reply.headers.get('cache-control')).toBe('no-store')
    }
    const file = await get('/assets/index-1.js')
    expect(file.headers.get('content-type')).toBe('text/javascript; charset=utf-8')
    expect(file.headers.get('cache-control')).toBe('private, max-age=31536000, immutable')
    const data = await get('/api/runs/run_0000000000000001/events')
    expect(data.headers.get('content-security-policy')).toContain('sandbox')
  })

  it('only files of the build are served, however a path is spelled', async () => {
    const { get } = await aHostedServer()
    for (const path of [
      '/assets/..%2f..%2f..%2fsecret.js',
      '/assets/%2e%2e%2findex.html',
      '/assets-x/index-1.js',
      '/assets/',
    ]) {
      expect((await get(path)).status, path).toBe(404)
    }
  })

  it('a missing build is reported with the command that builds the pages', async () => {
    const { get } = await aHostedServer({ built: false })
    const reply = await get('/fleet')
    expect(reply.status).toBe(404)
    expect(await reply.json()).toMatchObject({ repair: expect.stringContaining('npm run build') as unknown })
  })
})

describe('the socket of events', () => {
  it('the socket replays stored events once and in order, and continues with new ones', async () => {
    const { url, cookie, events } = await aHostedServer()
    publish(events, 250)
    const { frames, seqs } = await openSocket(url, cookie, 50)
    await expect.poll(() => seqs().length).toBe(200)
    publish(events, 3)
    await expect.poll(() => seqs().length).toBe(203)
    expect(seqs()).toEqual(Array.from({ length: 203 }, (_, index) => index + 51))
    expect(frames.filter(({ type }) => type === 'dropped')).toEqual([])
  })

  it('the socket resumes after a disconnect, and a negative number starts with the newest events', async () => {
    const { url, cookie, events } = await aHostedServer()
    publish(events, 5)
    const first = await openSocket(url, cookie)
    await expect.poll(() => first.seqs()).toEqual([1, 2, 3, 4, 5])
    first.socket.terminate()
    publish(events, 4)
    const second = await openSocket(url, cookie, 5)
    await expect.poll(() => second.seqs()).toEqual([6, 7, 8, 9])
    const newest = await openSocket(url, cookie, -2)
    await expect.poll(() => newest.seqs()).toEqual([8, 9])
    // A reader that has caught up receives the number from which it can resume.
    await expect.poll(() => newest.frames.at(-1)).toEqual({ type: 'alive', seq: 9 })
  })

  it('the socket sends keep-alive messages and closes if the client sends data', async () => {
    const { url, cookie } = await aHostedServer({ keepAliveMs: 20 })
    const { socket, frames } = await openSocket(url, cookie)
    await expect.poll(() => frames.filter(({ type }) => type === 'alive').length).toBeGreaterThan(4)
    socket.send('hello')
    await once(socket, 'close')
  })

  it('the socket closes for a client that does not read, and stays open for others', async () => {
    const { url, cookie, events } = await aHostedServer()
    const slow = await openSocket(url, cookie)
    const quick = await openSocket(url, cookie)
    slow.socket.pause()
    const closed = once(slow.socket, 'close')
    // Far more than the limit for one reader and the kernel's buffer.
    for (let round = 0; round < 60; round++) {
      publish(events, 10, 100_000)
      await expect.poll(() => quick.seqs().at(-1), { interval: 4 }).toBe(events.lastSeq())
    }
    slow.socket.resume()
    await closed
    expect(slow.seqs().length).toBeLessThan(600)
    expect(quick.seqs()).toHaveLength(600)
  })

  it('the socket closes at once for a removed person and stays open for others', async () => {
    let known: string | null = 'ann'
    const listeners: (() => void)[] = []
    const people: KnownPeople = {
      ...nobody,
      byToken: () => (known === null ? null : { ...ownsNone, name: known, role: 'viewer' }),
      onChange: (listener) => void listeners.push(listener),
    }
    const { url, cookie } = await aHostedServer({ people })
    const ours = await openSocket(url, cookie)
    const ann = new WebSocket(`${url.replace('http', 'ws')}/ws/events?since=0`, {
      headers: { authorization: `Bearer ${personTokenPrefix}anything`, origin: url },
    })
    await once(ann, 'open')
    const closed = once(ann, 'close')
    known = null
    for (const listener of listeners) listener()
    await closed
    expect(ours.socket.readyState).toBe(WebSocket.OPEN)
  })

  it('the socket closes when the token expires that opened it', async () => {
    const atMs = systemClock.now()
    let nowMs = atMs
    let endIt = () => {}
    // The clock moves only when the test sets it.
    const clock: Clock = {
      now: () => nowMs,
      sleep: (ms, signal) =>
        ms > 60_000
          ? systemClock.sleep(ms, signal)
          : new Promise((resolve) => {
              endIt = () => {
                nowMs = atMs + ms
                resolve()
              }
            }),
    }
    const people: KnownPeople = {
      ...nobody,
      byToken: () => ({
        ...ownsNone,
        name: 'ann',
        role: 'viewer',
        token_expires_at: new Date(atMs + 5000).toISOString(),
      }),
    }
    const { url } = await aHostedServer({ people, clock })
    const ann = new WebSocket(`${url.replace('http', 'ws')}/ws/events?since=0`, {
      headers: { authorization: `Bearer ${personTokenPrefix}anything`, origin: url },
    })
    await once(ann, 'open')
    const closed = once(ann, 'close')
    endIt()
    await closed
    expect(ann.readyState).toBe(WebSocket.CLOSED)
  })

  it('the socket closes at once when the mesh stops', async () => {
    const { url, cookie, server } = await aHostedServer()
    const { socket } = await openSocket(url, cookie)
    const closed = once(socket, 'close')
    await server.close()
    await closed
    expect(socket.readyState).toBe(WebSocket.CLOSED)
  })

  it("the socket's path answers plain requests and other upgrade protocols as plain requests", async () => {
    const { get, url, cookie } = await aHostedServer()
    expect((await get('/ws/events')).status).toBe(400)
    const asked = request(`${url}/fleet`, { headers: { cookie, upgrade: 'h2c', connection: 'upgrade' } })
    const [answer] = (await once(asked.end(), 'response')) as [IncomingMessage]
    answer.resume()
    expect(answer.statusCode).toBe(200)
  })
})

describe('the events of a run', () => {
  it('the events of a run name it, and the answer says whether more may have existed', async () => {
    const { get, events } = await aHostedServer()
    publish(events, 3)
    events.publish({ type: 'agent.stopped', agent_id: 'a', reason: 'idle' })
    const reply = await (await get('/api/runs/run_0000000000000001/events')).json()
    expect(reply).toMatchObject({
      more: false,
      forgotten: false,
      events: [{ seq: 1 }, { seq: 2 }, { seq: 3 }],
    })
    expect((await get('/api/runs/run_0000000000000002/events')).status).toBe(404)
  })

  it('events of one type are listed without the others', async () => {
    const { get, events } = await aHostedServer()
    publish(events, 3)
    const run = { agent_id: 'a', run_id: 'run_0000000000000001' }
    events.publish({ type: 'files.changed', ...run, files: [], unlisted: 0, is_partial: false })
    const reply = await (await get('/api/runs/run_0000000000000001/events?only=files.changed')).json()
    expect(reply).toMatchObject({ events: [{ seq: 4 }], more: false, forgotten: false })
    expect((await get('/api/runs/run_0000000000000001/events?only=other')).status).toBe(400)
  })
})
