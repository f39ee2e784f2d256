import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { chatSessionApi, chatSessionEndpoints } from '@flotilla/protocol/chat-session-api'
import type { ChatHistory } from '@flotilla/protocol/chat-history'
import { meshHumanEndpoints } from '@flotilla/protocol/mesh-human-api'
import { runViewSchema } from '@flotilla/protocol/run'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { aCassette, calls, runs, says } from '../support/cassettes.ts'
import { eventually } from '../support/eventually.ts'
import { flotilla } from '../support/flotilla-command.ts'
import { startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { heedsLesson, verifies } from '../verifies.ts'

const twentyThousand = 'abcdefghij'.repeat(2000)
const wait = 'echo began > began; for i in $(seq 300); do [ -e go ] && break; sleep 0.2; done; echo over'

const cassette = aCassette(
  { when: '^wait$', turns: [runs(wait), says('It is over.')] },
  {
    when: '^circle$',
    turns: Array.from({ length: 12 }, () => runs('echo again')),
  },
  {
    when: '^large file$',
    turns: [calls('write_file', { path: 'large.txt', content: twentyThousand }), says('Written.')],
  },
  { when: '^hello', turns: [says('Hello yourself.')] },
)
const settings = { keep_alive_seconds: 1 }

async function historyOf(mesh: MeshProcess, session: string): Promise<ChatHistory> {
  const reply = await mesh.call(chatSessionEndpoints.chatHistory, {
    params: { id: 'left' },
    query: { session },
  })
  expect(reply.status, reply.text).toBe(200)
  return chatSessionApi.chatHistory.response.parse(reply.json())
}

const reset = (mesh: MeshProcess, session: string) =>
  mesh.call(chatSessionEndpoints.chatReset, { params: { id: 'left' }, body: { session } })

async function began(mesh: MeshProcess): Promise<void> {
  await eventually('the program works', async () =>
    readFile(join(mesh.dataOf('left'), 'began')).catch(() => null),
  )
}

const unblockAgent = (mesh: MeshProcess) => writeFile(join(mesh.dataOf('left'), 'go'), '')

describe('a conversation', () => {
  let mesh: MeshProcess
  beforeAll(async () => {
    mesh = await startMesh({ cassettes: { talk: cassette }, settings })
    await mesh.createWorker('left')
  })
  beforeEach(async () => {
    for (const mark of ['began', 'go']) await rm(join(mesh.dataOf('left'), mark), { force: true })
  })
  afterAll(() => mesh.stop())
  beforeEach(() => mesh.restartIfStopped())

  it('a conversation is read, reset into an archive, and refused to be reset while a run goes on in it', async () => {
    verifies('purpose:chat-mode:interactive', 'purpose:chat-mode:command-line')
    const command = (...line: string[]) => flotilla(mesh, ...line)
    expect((await command('chat', 'left', 'hello there')).out).toContain('Hello yourself.')
    await mesh.ask('hello from two', { agent: 'left', session: 'two' })
    const told = await command('history', 'left')
    expect(told.out).toMatch(/you: hello there\nagent: Hello yourself\./)
    expect(told.out).not.toContain('from two')
    expect((await command('sessions', 'left')).out).toMatch(/^CONVERSATION[^]*two/)

    const waiting = await mesh.submit('wait', { agent: 'left', session: 'default' })
    await began(mesh)
    const refused = await reset(mesh, 'default')
    expect(refused.json()).toMatchObject({ status: 409, code: 'conflict', run_id: waiting })
    // Another conversation can be reset meanwhile.
    expect((await reset(mesh, 'two')).json()).toEqual({ session: 'two', archived_messages: 3 })
    await unblockAgent(mesh)
    await mesh.ended(waiting)

    const { messages } = await historyOf(mesh, 'default')
    const asked = messages.filter(({ role }) => role === 'user').map(({ text }) => text)
    expect(asked).toEqual(['hello there', 'wait'])
    const said = await command('reset-chat', 'left')
    expect(said.out).toMatch(
      /^The conversation default starts from the beginning; its \d+ messages are archived\.\n$/,
    )
    expect(await historyOf(mesh, 'default')).toMatchObject({ total: 0, messages: [] })
    const archives = join(mesh.dataOf('left'), '.flotilla', 'archives')
    const kept = await Promise.all(
      (await readdir(archives)).map((name) => readFile(join(archives, name), 'utf8')),
    )
    expect(kept.filter((text) => text.includes('hello there'))).toHaveLength(1)
    expect((await reset(mesh, 'default')).json()).toEqual({ session: 'default', archived_messages: 0 })
    const nobody = await mesh.call(chatSessionEndpoints.chatHistory, { params: { id: 'nobody' } })
    expect(nobody.json()).toMatchObject({ code: 'unknown-agent' })
  })

  it('a conversation is one for each channel unless it is named, and the terminal has its own', async () => {
    const post = async (userAgent: string) =>
      runViewSchema.parse(
        (
          await mesh.call(meshHumanEndpoints.chat, {
            params: { id: 'left' },
            body: { message: 'hello' },
            headers: { 'user-agent': userAgent },
          })
        ).json(),
      ).input
    expect(await post('flotilla-cli')).toMatchObject({ session: 'default' })
    expect(await post('curl/8')).toMatchObject({ session: 'api' })
    const reply = await mesh.call(chatSessionEndpoints.chatSessions, { params: { id: 'left' } })
    const { sessions } = chatSessionApi.chatSessions.response.parse(reply.json())
    expect(sessions.map(({ session }) => session)).toEqual(expect.arrayContaining(['api', 'default']))
  })

  it('a conversation keeps what was said when only tools were used, when it failed, and when the asker left', async () => {
    heedsLesson(59)
    const circle = await mesh.ask('circle', { agent: 'left', session: 'failed' })
    expect(circle.outcome).toMatchObject({ status: 'failed', code: 'tool-loop-terminated' })
    const failed = await historyOf(mesh, 'failed')
    expect(failed.messages.filter(({ role }) => role === 'user').map(({ text }) => text)).toContain('circle')
    expect(failed.messages.flatMap(({ calls: made }) => made.map(({ name }) => name))).toContain(
      'run_command',
    )
    expect(failed.messages.at(-1)?.unanswered).toContain('run_command')

    // `submit` disconnects as soon as its run is named.
    const left = await mesh.submit('wait', { agent: 'left', session: 'left' })
    await began(mesh)
    await unblockAgent(mesh)
    await mesh.ended(left)
    expect((await historyOf(mesh, 'left')).messages.at(-1)).toMatchObject({ text: 'It is over.' })
  })

  it('a conversation takes an argument of 20 KB whole to where it belongs', async () => {
    heedsLesson(102)
    expect((await mesh.ask('large file', { agent: 'left' })).outcome?.text).toBe('Written.')
    expect(await readFile(join(mesh.dataOf('left'), 'large.txt'), 'utf8')).toBe(twentyThousand)
  })

  it('a conversation with a tool longer than its reader is patient ends with its answer', async () => {
    heedsLesson(50)
    // The answer takes four times as long as this reader's patience; the stream is never silent for over a second.
    const patienceMs = 5000
    const asking = patientPost(mesh, patienceMs)
    await began(mesh)
    await new Promise((resolve) => {
      setTimeout(resolve, patienceMs * 2)
    })
    await unblockAgent(mesh)
    const body = await asking
    expect(body.startsWith('  ')).toBe(true)
    expect(runViewSchema.parse(JSON.parse(body)).outcome).toMatchObject({
      status: 'done',
      text: 'It is over.',
    })
  })

  it('a conversation that loses its mesh while it waits gets a broken reply and never an empty one', async () => {
    heedsLesson(50)
    const asking = patientPost(mesh, 20_000).then(
      (body) => ({ body }),
      (error: unknown) => ({ error }),
    )
    await began(mesh)
    await new Promise((resolve) => {
      setTimeout(resolve, 1500)
    })
    await mesh.kill9()
    expect(await asking).toHaveProperty('error')
    await mesh.restart()
    await unblockAgent(mesh)
  })
})

/** Reads the body of `wait`, and disconnects after this much silence. */
async function patientPost(mesh: MeshProcess, patienceMs: number): Promise<string> {
  const silence = new AbortController()
  let timer = setTimeout(() => silence.abort(), patienceMs)
  const reply = await fetch(`${mesh.url}/api/agents/left/chat`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-requested-with': 'test' },
    body: JSON.stringify({ message: 'wait' }),
    signal: silence.signal,
  })
  let body = ''
  for await (const piece of reply.body ?? []) {
    clearTimeout(timer)
    timer = setTimeout(() => silence.abort(), patienceMs)
    body += Buffer.from(piece).toString()
  }
  clearTimeout(timer)
  return body
}
