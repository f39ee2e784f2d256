import type { ServerResponse } from 'node:http'
import process from 'node:process'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { chunkEvent, startLlmUpstream, usageEvent } from '../support/llm-upstream.ts'
import type { LlmUpstream } from '../support/llm-upstream.ts'
import { flotilla } from '../support/flotilla-command.ts'
import { startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { runAtTerminal } from '../support/pty-screen.ts'
import type { PtyProgram } from '../support/pty-screen.ts'
import { cliProgram } from '../support/programs.ts'

let upstream: LlmUpstream
let mesh: MeshProcess
/** The response of an answer that continues until the test ends it. */
let held: ServerResponse | null = null
let asked: string[] = []
const open: PtyProgram[] = []

beforeAll(async () => {
  upstream = await startLlmUpstream()
  upstream.answerWith((call, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const body = JSON.stringify(call.body)
    asked.push(body)
    if (body.includes('never stop') && !body.includes('say more')) {
      held = response
      response.write(chunkEvent({ content: 'on and on\n' }))
      return
    }
    response.write(chunkEvent({ content: 'answered' }))
    response.write(chunkEvent({}, 'stop'))
    response.write(usageEvent())
    response.end('data: [DONE]\n\n')
  })
  mesh = await startMesh({
    settings: {
      default_model: 'fake/teller',
      providers: { fake: { kind: 'openai-compatible', base_url: upstream.baseUrl } },
      models: { 'fake/teller': { price: { input_per_mtok: 1, output_per_mtok: 2 } } },
    },
  })
  await mesh.createWorker('teller')
  await mesh.createWorker('writer')
})
afterAll(async () => {
  for (const program of open) program.kill()
  held?.destroy()
  await mesh.stop()
  await upstream.close()
})

function chat(...more: readonly string[]): PtyProgram {
  const words = [
    process.execPath,
    cliProgram,
    'chat',
    'teller',
    '--url',
    mesh.url,
    '--home',
    mesh.home,
    ...more,
  ]
  const program = runAtTerminal(words, { columns: 100, home: mesh.home })
  open.push(program)
  return program
}

/** Finds the row for typing, because earlier prompts stay on the screen. */
const atPrompt = (program: PtyProgram, row: string) =>
  eventually(`the prompt “${row}”`, () => program.rows().at(-1) === row || null)

describe('at the prompt of a conversation', () => {
  it('Tab completes commands, their verbs, and the agents of the fleet, also among keys that come at once', async () => {
    const program = chat()
    await atPrompt(program, 'teller ›')
    program.type('/agents\r')
    await program.shows(/^writer /)
    await atPrompt(program, 'teller ›')
    program.type('/blackb\tg\t')
    await atPrompt(program, 'teller › /blackboard get')
    program.type('\u0003')
    await atPrompt(program, 'teller ›')
    program.type('/use wri\t\r')
    await atPrompt(program, 'writer ›')
    expect(program.rows().at(-1)).toBe('writer ›')
    program.kill()
  })

  it('text that is pasted is asked as one, with its lines', async () => {
    const program = chat()
    await atPrompt(program, 'teller ›')
    asked = []
    program.type('\u001B[200~first\tline\r\nsecond line\u001B[201~')
    await program.shows(/^teller › first {4}line.second line$/)
    expect(asked).toEqual([])
    program.type('\r')
    await program.shows(/^answered$/)
    expect(asked).toHaveLength(1)
    expect(asked[0]).toContain(String.raw`first    line\nsecond line`)
    await atPrompt(program, 'teller ›')
    program.type('/broadcast hello all\r')
    await program.shows(/^writer: answered$/)
    await program.shows(/^teller: answered$/)
    program.kill()
  })

  it('Ctrl-C while a broadcast waits ends what was asked, and neither the conversation nor the fleet', async () => {
    // A separate conversation, so that later tests do not see its messages.
    const program = chat('--session', 'apart')
    await atPrompt(program, 'teller apart ›')
    program.type('/broadcast never stop\r')
    await program.shows(/^Asked: /)
    await eventually('two runs', async () => {
      const { out } = await flotilla({ url: mesh.url, home: mesh.home }, 'runs', '--json')
      const { runs } = JSON.parse(out) as { runs: { state: string }[] }
      return runs.filter(({ state }) => state === 'running').length === 2 || null
    })
    program.type('\u0003')
    await program.shows(/^Cancelling …/)
    await program.shows(/^writer: cancelled/)
    await program.shows(/^teller: cancelled/)
    await atPrompt(program, 'teller apart ›')
    program.type('say more\r')
    await program.shows(/^answered$/)
    expect((await flotilla({ url: mesh.url, home: mesh.home }, 'status')).code).toBe(0)
    program.kill()
  })

  it('a secret is neither shown nor remembered, and a name is asked for before what cannot be undone', async () => {
    const program = chat()
    await atPrompt(program, 'teller ›')
    program.type('/credential add token api.example.com\r')
    await program.shows(/^Value of token:/)
    program.type('very-secret-value\r')
    await program.shows(/^Stored token/)
    await atPrompt(program, 'teller ›')
    program.type('\u001B[A')
    await atPrompt(program, 'teller › /credential add token api.example.com')
    program.type('\u0003')
    await atPrompt(program, 'teller ›')
    program.type('/add clerk Keeps the books\r')
    await program.shows(/^clerk is created/)
    program.type('/remove clerk\r')
    await program.shows(/Type its name:/)
    program.type('clerk\r')
    await program.shows(/^clerk is deleted\.$/)
    expect(program.rows().join('\n')).not.toContain('very-secret-value')
    program.kill()
  })

  it('Ctrl-C at a question cancels only the question, Ctrl-D also ends the conversation, and neither is an error', async () => {
    const program = chat()
    await atPrompt(program, 'teller ›')
    program.type('/remove writer\r')
    await program.shows(/Type its name:/)
    program.type('wri\u0003')
    await program.shows(/^Interrupted\.$/)
    await atPrompt(program, 'teller ›')
    program.type('/credential add token api.example.com\r')
    await program.shows(/^Value of token:/)
    program.type('half of a sec\u0003')
    await atPrompt(program, 'teller ›')
    program.type('/agents\r')
    await program.shows(/^writer /)
    await atPrompt(program, 'teller ›')
    program.type('/remove writer\r')
    await atPrompt(program, 'Delete writer and its data permanently? Type its name:')
    program.type('\u0004')
    expect(await program.ended).toBe(0)
    expect(program.rows().join('\n')).not.toMatch(/internal-error|half of a sec|is deleted/)
  })

  it('Ctrl-C ends the turn and what was said to it stays, the fleet goes on, and the next conversation remembers lines', async () => {
    const program = chat()
    await atPrompt(program, 'teller ›')
    program.type('never stop\r')
    await program.shows(/^on and on/)
    program.type('say more\r')
    await program.shows(/will read “say more”/)
    program.type('\u0003')
    await program.shows(/code cancelled/)
    // The steer to the ended turn starts nothing; the typed line stays in the history.
    await program.shows(/was stopped before it read “say more”/)
    await atPrompt(program, 'teller ›')
    expect((await flotilla({ url: mesh.url, home: mesh.home }, 'status')).out).toContain('teller')
    program.type('/quit\r')
    expect(await program.ended).toBe(0)

    const next = chat()
    await atPrompt(next, 'teller ›')
    // The last typed line is the command that ended the conversation.
    next.type('\u001B[A\u001B[A')
    await atPrompt(next, 'teller › say more')
    next.kill()
  })
})
