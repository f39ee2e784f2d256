import type { ServerResponse } from 'node:http'
import process from 'node:process'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { chunkEvent, refuse, startLlmUpstream, usageEvent } from '../support/llm-upstream.ts'
import type { LlmUpstream } from '../support/llm-upstream.ts'
import { startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { runAtTerminal } from '../support/pty-screen.ts'
import type { PtyProgram } from '../support/pty-screen.ts'
import { cliProgram } from '../support/programs.ts'

let upstream: LlmUpstream
let mesh: MeshProcess
let stream: ServerResponse | null = null
let isLimited = false
const open: PtyProgram[] = []

beforeAll(async () => {
  upstream = await startLlmUpstream()
  upstream.answerWith((_call, response) => {
    if (isLimited) {
      isLimited = false
      refuse(response, 429, { headers: { 'retry-after': '4' } })
      return
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    stream = response
    say('Once upon a time')
  })
  mesh = await startMesh({
    settings: {
      default_model: 'fake/teller',
      providers: { fake: { kind: 'openai-compatible', base_url: upstream.baseUrl } },
      models: { 'fake/teller': { price: { input_per_mtok: 1, output_per_mtok: 2 } } },
    },
  })
  await mesh.createWorker('teller')
})
afterAll(async () => {
  for (const program of open) program.kill()
  await mesh.stop()
  await upstream.close()
})

const say = (content: string) => stream?.write(chunkEvent({ content }))
function end(): void {
  stream?.write(chunkEvent({}, 'stop'))
  stream?.write(usageEvent())
  stream?.end('data: [DONE]\n\n')
  stream = null
}

function chat(columns: number): PtyProgram {
  const words = [process.execPath, cliProgram, 'chat', 'teller', '--url', mesh.url]
  const program = runAtTerminal(words, { columns, home: mesh.home })
  open.push(program)
  return program
}

describe('what a person types at a terminal while an answer streams', () => {
  it('typed text stays in its own row while an answer streams, and the answer is printed once and unchanged', async () => {
    const program = chat(100)
    await program.shows(/^teller ›/)
    program.type('tell me a story\r')
    await program.shows(/Once upon a time/)
    program.type('make it sho')
    await program.shows(/^teller › make it sho$/)
    say(' there was a fleet')
    await program.shows(/^Once upon a time there was a fleet$/)
    expect(program.rows().at(-1)).toBe('teller › make it sho')
    program.type('rt\r')
    await program.shows(/^teller ›$/)
    say(' of many ships.\nThe end')
    await program.shows(/^The end$/)
    await program.shows(/will read “make it short”/)
    end()
    // The steer is read after the answer, in a further model call of the same run.
    await program.shows(/^Once upon a time$/)
    end()
    await program.shows(/^teller ›$/)
    const rows = program.rows()
    expect(rows).toContain('Once upon a time there was a fleet of many ships.')
    expect(rows.filter((row) => row.includes('many ships'))).toHaveLength(1)
    expect(rows.filter((row) => row.includes('The end'))).toHaveLength(1)
    program.type('/quit\r')
    expect(await program.ended).toBe(0)
  })

  it('what a person types at a terminal while an answer streams does not break rows that are longer than the terminal is wide', async () => {
    const program = chat(24)
    await program.shows(/^teller ›/)
    program.type('again\r')
    await program.shows(/Once upon a time/)
    say(' in a land of many, many')
    program.type('hm, an input that is far wider than this')
    say(' small words')
    await program.shows(/^ords$/)
    end()
    // readline draws the typed text again, in as many rows as it needs.
    await program.shows(/^at is far wider than thi$/)
    const said = program.rows().join('|')
    expect(said).toContain('Once upon a time in a la|nd of many, many small w|ords')
    program.kill()
  })

  it('what a person types at a terminal while an answer streams shows a wait as one line that counts, and that goes when the answer comes', async () => {
    const program = chat(100)
    await program.shows(/^teller ›/)
    isLimited = true
    program.type('more\r')
    await program.shows(/^tries again in [1-4] s: 429 from fake$/)
    await program.shows(/^Once upon a time/)
    expect(program.rows().join('\n')).not.toContain('tries again')
    end()
    program.kill()
  })

  it('typed text stays below an answer of wide characters, and no earlier row remains', async () => {
    const program = chat(24)
    await program.shows(/^teller ›/)
    program.type('write\r')
    await program.shows(/Once upon a time/)
    const said = '\n「从前，有一支舰队。」，。ＦＬＥＥＴ❤️✔️1️⃣，。「」ﾊﾟ한국어，end'
    for (const letter of said) {
      say(letter)
      program.type('、')
    }
    await program.shows(/end$/)
    await program.shows(/^teller › 、{6,7}$/)
    const rows = program.rows()
    expect(rows.join('').replaceAll(/teller ›|、| /g, '')).toContain(said.slice(1))
    expect(rows.filter((row) => row.includes('从前'))).toHaveLength(1)
    expect(rows.filter((row) => row.startsWith('teller › 、'))).toHaveLength(1)
    end()
    program.kill()
  })

  it('what a person types at a terminal while an answer streams leaves no second copy when the window gets narrower and wider in mid-answer', async () => {
    const program = chat(60)
    await program.shows(/^teller ›/)
    program.type('write\r')
    await program.shows(/Once upon a time/)
    program.type('typed by me')
    say(' there was a fleet of ships at sea')
    await program.shows(/^Once upon a time there was a fleet of ships at sea$/)
    await program.shows(/^teller › typed by me$/)
    await program.resize(30)
    await program.shows(/^leet of ships at sea$/)
    await program.shows(/^teller › typed by me$/)
    expect(program.rows().filter((row) => row.includes('Once upon'))).toHaveLength(1)
    say(' and more')
    await program.shows(/^leet of ships at sea and more$/)
    await program.resize(70)
    // The terminal has joined both rows; the program removes the prompt again.
    await program.shows(/^leet of ships at sea and more$/)
    say(' ships')
    await program.shows(/and more ships$/)
    const rows = program.rows()
    expect(rows.filter((row) => row.includes('Once upon'))).toHaveLength(1)
    expect(rows.filter((row) => row.includes('typed by me'))).toHaveLength(1)
    expect(rows.join('').replaceAll('  ', ' ')).toContain('there was a fleet of ships at sea and more ships')
    end()
    program.kill()
  })

  it('what a person types at a terminal while an answer streams goes with Ctrl-C where nothing streams, and only at an empty prompt Ctrl-C ends the conversation', async () => {
    const program = chat(60)
    await program.shows(/^teller ›$/)
    program.type('not this')
    await program.shows(/^teller › not this$/)
    program.type('\u0003')
    await program.shows(/^teller ›$/)
    program.type('but this')
    await program.shows(/^teller › but this$/)
    program.type('\u0003')
    await program.shows(/^teller ›$/)
    program.type('\u0003')
    expect(await program.ended).toBe(0)
  })
})
