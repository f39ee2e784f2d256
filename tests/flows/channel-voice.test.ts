import process from 'node:process'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { aCassette, says } from '../support/cassettes.ts'
import { startChannelMesh } from '../support/channel-mesh.ts'
import type { ChannelMesh } from '../support/channel-mesh.ts'
import { eventually } from '../support/eventually.ts'
import { flotilla } from '../support/flotilla-command.ts'
import { openLedger } from '../support/ledger-view.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { answerTranscript, aTranscriptionServer, oggNote } from '../support/transcription-server.ts'

const answer = 'It is green.'
const cassette = aCassette(
  { agents: ['clerk', 'poor'], when: 'how is the build of', turns: [says(answer)] },
  { agents: ['clerk', 'poor'], turns: [says('Nobody asked that.')] },
)
/** Price of one second, at six dollars a minute. */
const usdPerSecond = 0.1
/** 6,000 bytes last eight seconds at most; the server reports two seconds. */
const note = (words: string) => oggNote(`<${words}>`, 6000).toString('latin1')

let fleet: ChannelMesh
let mesh: MeshProcess
let platform: ChannelMesh['platform']
let server: Awaited<ReturnType<typeof aTranscriptionServer>>

beforeAll(async () => {
  server = await aTranscriptionServer()
  server.answerWith(({ bytes }, response) =>
    answerTranscript(response, /<([^>]*)>/.exec(bytes.toString('latin1'))?.[1] ?? ''),
  )
  fleet = await startChannelMesh({
    cassettes: { voice: cassette },
    settings: {
      providers: { ear: { kind: 'openai-compatible', base_url: server.baseUrl, local: false } },
    },
    channels: { voice: { model: 'ear/whisper', usd_per_minute: usdPerSecond * 60 } },
  })
  ;({ mesh, platform } = fleet)
  await mesh.createWorker('poor')
  await fleet.pair('first')
})
afterAll(async () => {
  await fleet?.stop()
  await server?.close()
})

const saying = (step: string, agent = 'clerk') => {
  const files = [{ ...platform.file(`${step}.ogg`, note(`how is the build of ${step}?`)), voice: true }]
  return fleet.say(step, { conversation: step, text: `@${agent} listen`, files })
}

/** Returns all stored rows once the person has an answer and no work is open any more. */
async function storyOf(step: string) {
  await eventually('it is answered', () => platform.in(step).length > 0)
  const ledger = openLedger(mesh.home)
  try {
    await eventually(
      'nothing is to be told any more',
      () =>
        ledger.rows("SELECT id FROM channel_letters WHERE state = 'open'").length === 0 &&
        ledger.rows('SELECT message_id FROM channel_messages WHERE open IS NOT NULL').length === 0,
    )
    const inputs = ledger
      .rows('SELECT input FROM runs')
      .map(({ input }) => String(input))
      .filter((input) => input.includes(`build of ${step}?`))
    return { inputs, words: platform.in(step).map(({ text }) => text) }
  } finally {
    ledger.close()
  }
}

const oneRun = (step: string) => ({
  inputs: [expect.stringContaining(`listen\\n\\n[Transcript of a voice note] how is the build of ${step}?`)],
  words: [expect.stringContaining(answer)],
})

/** US dollars that an agent has spent. Only transcription costs anything here. */
async function spentOf(agent: string): Promise<number> {
  const { code, out, err } = await flotilla(mesh, 'costs', '--by', 'agent', '--json')
  expect(code, err).toBe(0)
  const report = JSON.parse(out) as { rows: { key: string; usd: number }[] }
  return report.rows.find(({ key }) => key === agent)?.usd ?? 0
}

describe('a voice note', () => {
  it('a voice note becomes words of a run, and its agent pays for it', async () => {
    await saying('today')
    expect(await storyOf('today')).toEqual(oneRun('today'))
    expect(server.notes.map(({ fileName, model }) => [fileName, model])).toEqual([['voice.ogg', 'whisper']])
    expect(await spentOf('clerk')).toBeCloseTo(2 * usdPerSecond)
  })

  it('a voice note is refused in words by a budget that it could exceed, and nothing leaves', async () => {
    const before = server.notes.length
    const set = await flotilla(mesh, 'budget', 'poor', '--daily', '0.5', '--json')
    expect(set.code).toBe(0)
    await saying('poverty', 'poor')
    await eventually('it is told', () => platform.in('poverty').some(({ text }) => /Left out/.test(text)))
    const told = platform
      .in('poverty')
      .map(({ text }) => text)
      .join('\n')
    expect(told).toMatch(/Left out: poverty\.ogg: .*budget/)
    expect(server.notes).toHaveLength(before)
    expect(await spentOf('poor')).toBe(0)
  })

  const messageRow = 'INSERT OR IGNORE INTO channel_messages'
  const filesOver = 'UPDATE channel_messages SET became'

  const moments = [
    ['fetched', `before ${filesOver}`],
    ['given', `after ${filesOver}`],
    ['written', `after ${messageRow}`],
  ] as const

  it.each(process.env['FLOTILLA_SOAK'] === '1' ? moments : moments.slice(1, 2))(
    'a voice note is one run where the mesh is killed once it is %s',
    async (step, moment) => {
      await fleet.killAt(moment)
      const said = saying(step)
      await fleet.restartOnceKilled()
      await said
      expect(await storyOf(step)).toEqual(oneRun(step))
    },
  )

  it('a voice note is one run where the mesh is killed while it is written down, and what was set aside is booked', async () => {
    const before = await spentOf('clerk')
    const plainly = server.notes.length
    let isKilled = false
    server.answerWith(async ({ bytes }, response) => {
      if (!isKilled) {
        isKilled = true
        await mesh.kill9()
        return
      }
      answerTranscript(response, /<([^>]*)>/.exec(bytes.toString('latin1'))?.[1] ?? '')
    })
    const said = saying('midway')
    await fleet.restartOnceKilled(() => isKilled)
    await said
    expect(await storyOf('midway')).toEqual(oneRun('midway'))
    expect(server.notes).toHaveLength(plainly + 2)
    const after = await spentOf('clerk')
    // The whole reservation of the interrupted call, eight seconds, and the two reported seconds.
    expect(after - before).toBeCloseTo(10 * usdPerSecond)
  })
})
