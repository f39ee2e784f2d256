import type { ServerResponse } from 'node:http'
import process from 'node:process'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { chunkEvent, startLlmUpstream, usageEvent } from '../support/llm-upstream.ts'
import type { LlmUpstream } from '../support/llm-upstream.ts'
import { startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { runAtTerminal } from '../support/pty-screen.ts'
import type { PtyProgram } from '../support/pty-screen.ts'
import { cliProgram } from '../support/programs.ts'

let upstream: LlmUpstream
let mesh: MeshProcess
/** An answer that goes on until it is ended. */
let held: ServerResponse | null = null
let asked: string[] = []
const open: PtyProgram[] = []

beforeAll(async () => {
  upstream = await startLlmUpstream()
  upstream.answerWith((call, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const body = JSON.stringify(call.body)
    asked.push(body)
    if (body.includes('never stop')) {
      held = response
      response.write(chunkEvent({ content: 'on and on' }))
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

function chat(): PtyProgram {
  const words = [process.execPath, cliProgram, 'chat', 'teller', '--url', mesh.url, '--home', mesh.home]
  const program = runAtTerminal(words, { columns: 100, home: mesh.home })
  open.push(program)
  return program
}

async function ready(program: PtyProgram): Promise<void> {
  await program.shows(/^teller ›$/)
}

describe('at the prompt of a conversation', () => {
  it('Tab completes commands, their verbs, and the agents of the fleet', async () => {
    const program = chat()
    await ready(program)
    program.type('/agents\r')
    await program.shows(/^writer /)
    program.type('/blackb\tg\t')
    await program.shows(/^teller › \/blackboard get/)
    program.type('\u0003')
    program.type('/use wri\t')
    await program.shows(/^teller › \/use writer/)
    program.type('\r')
    await program.shows(/^writer ›$/)
    program.kill()
  })

  it('text that is pasted is asked as one, with its lines', async () => {
    const program = chat()
    await ready(program)
    asked = []
    program.type('\u001B[200~first line\r\nsecond line\u001B[201~')
    await program.shows(/^teller › first line.second line$/)
    expect(asked).toEqual([])
    program.type('\r')
    await program.shows(/^answered$/)
    expect(asked.join()).toContain(String.raw`first line\nsecond line`)
    program.kill()
  })

  it('another agent is asked once with its name, and all of them by /broadcast', async () => {
    const program = chat()
    await ready(program)
    program.type('@writer hello you\r')
    await program.shows(/^answered$/)
    await ready(program)
    program.type('/broadcast hello all\r')
    await program.shows(/^writer: answered$/)
    await program.shows(/^teller: answered$/)
    program.type('@nobody hello\r')
    await program.shows(/There is no agent “nobody”/)
    program.kill()
  })

  it('lines of the command line are said without their program, and what they lack is told', async () => {
    const program = chat()
    await ready(program)
    program.type('/blackboard set status/x "hello"\r')
    await program.shows(/status\/x/)
    program.type('/blackboard get status/x\r')
    await program.shows(/hello/)
    program.type('/add\r')
    await program.shows(/It goes like this: \/add <agent> <role>/)
    program.type('/add clerk Keeps the books\r')
    await program.shows(/^clerk is created/)
    program.type('/remove clerk\r')
    await program.shows(/Type its name:/)
    program.type('clerk\r')
    await program.shows(/^clerk is deleted\.$/)
    program.type('/queue\r')
    await program.shows(/^Nothing waits\.$/)
    program.type('/costz\r')
    await program.shows(/Did you mean \/costs/)
    program.kill()
  })

  it('a secret is neither shown nor remembered', async () => {
    const program = chat()
    await ready(program)
    program.type('/credential add token api.example.com\r')
    await program.shows(/^Value of token:/)
    program.type('very-secret-value\r')
    await program.shows(/token/)
    await ready(program)
    program.type('/credential list\r')
    await program.shows(/api\.example\.com/)
    program.type('\u001B[A\u001B[A')
    await program.shows(/^teller › \/credential add token api\.example\.com$/)
    expect(program.rows().join('\n')).not.toContain('very-secret-value')
    program.type('\u0003\u0003')
    program.kill()
  })

  it('Ctrl-C ends the turn and neither the conversation nor the fleet; lines are remembered by the next one', async () => {
    const program = chat()
    await ready(program)
    program.type('never stop\r')
    await program.shows(/^on and on/)
    program.type('\u0003')
    await program.shows(/code cancelled/)
    await ready(program)
    program.type('and now\r')
    await program.shows(/^answered$/)
    await ready(program)
    program.type('/quit\r')
    expect(await program.ended).toBe(0)

    const next = chat()
    await ready(next)
    next.type('\u001B[A\u001B[A')
    await next.shows(/^teller › and now$/)
    next.kill()
  })
})
