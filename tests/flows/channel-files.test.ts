import process from 'node:process'
import { keptApi, keptEndpoints } from '@flotilla/protocol/kept-api'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { aCassette, calls, says } from '../support/cassettes.ts'
import { startChannelMesh } from '../support/channel-mesh.ts'
import type { ChannelMesh } from '../support/channel-mesh.ts'
import { eventually } from '../support/eventually.ts'
import { openLedger } from '../support/ledger-view.ts'
import type { MeshProcess } from '../support/mesh-process.ts'

const isSoak = process.env['FLOTILLA_SOAK'] === '1'
const answer = 'Here it is again.'
// The agent returns a received file as a file, through its own tools.
const cassette = aCassette({
  agents: ['clerk'],
  when: '^copy',
  turns: [
    calls(
      'save_artifact',
      { name: 'copy.txt', path: '{{path}}' },
      { capture: { path: '- /data/(uploads/\\S+)' } },
    ),
    says(answer),
  ],
})

let fleet: ChannelMesh
let mesh: MeshProcess
let platform: ChannelMesh['platform']

beforeAll(async () => {
  fleet = await startChannelMesh({ cassettes: { files: cassette } })
  ;({ mesh, platform } = fleet)
  await fleet.pair('first')
})
afterAll(() => fleet?.stop())

async function uploads(): Promise<readonly string[]> {
  const reply = await mesh.call(keptEndpoints.folder, { params: { id: 'clerk' }, query: { path: 'uploads' } })
  if (reply.status === 404) return []
  return keptApi.folder.response.parse(reply.json()).entries.map(({ name }) => name)
}

/** Returns all stored rows once no work is open any more. */
async function storyOf(step: string) {
  const id = step.replaceAll(/[^a-z]+/g, '-')
  await eventually('the file is shown', () => platform.filesIn(step).length > 0)
  const ledger = openLedger(mesh.home)
  try {
    const isNothingOpen = () =>
      ledger.rows("SELECT id FROM channel_letters WHERE state = 'open'").length === 0 &&
      ledger.rows('SELECT message_id FROM channel_messages WHERE open IS NOT NULL').length === 0
    await eventually('nothing is to be told any more', isNothingOpen)
    const [row] = ledger.rows('SELECT became, run_id FROM channel_messages WHERE message_id = ?', id)
    const runId = String(row?.['run_id'])
    const ofThisPlace = ledger.rows(
      'SELECT run_id FROM channel_runs WHERE json_extract(place, ?) = ?',
      '$.conversationId',
      step,
    )
    return {
      became: row?.['became'],
      isItsRun: ofThisPlace.length === 1 && ofThisPlace[0]?.['run_id'] === runId,
      marked: ledger.rows('SELECT state FROM outbox WHERE run_id = ?', runId).map(({ state }) => state),
      words: platform.in(step).map(({ text }) => text),
      files: platform.filesIn(step),
      stored: (await uploads()).filter((name) => name.endsWith(`-${id}.txt`)).length,
    }
  } finally {
    ledger.close()
  }
}

/** The answer and the file exist once, from one run, and all are marked as delivered. */
const onceIn = (step: string) => ({
  became: 'run',
  isItsRun: true,
  marked: ['delivered'],
  words: [expect.stringContaining(answer)],
  files: [{ name: 'copy.txt', text: `content of ${step}` }],
  stored: 1,
})

const saying = (step: string) => {
  const id = step.replaceAll(/[^a-z]+/g, '-')
  const files = [platform.file(`${id}.txt`, `content of ${step}`)]
  return fleet.say(id, { conversation: step, text: '@clerk copy this', files })
}

describe('a file that somebody sends, and one that an agent makes of it', () => {
  it('files in a chat come in and go out', async () => {
    await saying('plainly')
    expect(await storyOf('plainly')).toEqual(onceIn('plainly'))
  })

  const messageRow = 'INSERT OR IGNORE INTO channel_messages'
  const filesOver = 'UPDATE channel_messages SET became'
  const artifactRow = 'INSERT INTO channel_run_files'
  const letterRow = 'INSERT OR IGNORE INTO channel_letters'
  const begun = 'UPDATE channel_letters SET begun_piece = ?, attempts'
  const out = 'UPDATE channel_letters SET pieces_out'
  const settled = 'UPDATE channel_letters SET state'

  const moments = [
    ['received, and no row written', `before ${messageRow}`],
    ['the row written, and nothing fetched', `after ${messageRow}`],
    ['the file stored, and no run made', `before ${filesOver}`],
    ['the run made', `after ${filesOver}`],
    ['the artifact saved, and its row not written', `before ${artifactRow}`],
    ['the row of the artifact written', `after ${artifactRow}`],
    ['answered, and no letter written', `before ${letterRow}`],
    ['the letter written, and nothing sent', `after ${letterRow}`],
    ['all sent, and not settled', `before ${settled}`],
    ['all over', `after ${settled}`],
  ] as const
  /** Before a row of an incoming message, and after a row that follows; `channels` cuts deliveries. */
  const some = ['the file stored, and no run made', 'the row of the artifact written']

  it.each(moments.filter(([step]) => isSoak || some.includes(step)))(
    'files in a chat are there once where the mesh is killed: %s',
    async (step, moment) => {
      await fleet.killAt(moment)
      const said = saying(step)
      await fleet.restartOnceKilled()
      await said
      expect(await storyOf(step)).toEqual(onceIn(step))
    },
  )

  const sendings = [
    ['the words sent, and the file not begun', 'message.sent', `before ${begun}`],
    ['the file begun, and not sent', 'message.sent', `after ${begun}`],
    ['the file sent, and not written that it is', 'file.sent', `before ${out}`],
    ['written that the file is sent', 'file.sent', `after ${out}`],
  ] as const

  it.each(isSoak ? sendings : sendings.slice(-1))(
    'files in a chat are there once where the mesh is killed: %s',
    async (step, type, moment) => {
      let isBegun = false
      let isArmed = false
      platform.onEvent(async (event) => {
        if (isBegun || event.conversation !== step || event.type !== type) return
        isBegun = true
        await fleet.killAt(moment)
        // The kill is armed first: when the arming file is gone, the mesh was killed.
        isArmed = true
      })
      try {
        await saying(step)
        await fleet.restartOnceKilled(() => isArmed && fleet.isKilled())
        expect(await storyOf(step)).toEqual(onceIn(step))
      } finally {
        platform.onEvent(null)
      }
    },
  )

  it.each([['while the file is given to the mesh'], ['while the platform takes the file']])(
    'files in a chat are there once where the mesh is killed %s',
    async (step) => {
      let isKilled = false
      const kill = async () => {
        if (isKilled) return
        isKilled = true
        await mesh.kill9()
      }
      if (step.includes('given')) platform.onFetch(kill)
      else
        platform.onEvent(async ({ conversation, type }) =>
          conversation === step && type === 'file.sent' ? kill() : undefined,
        )
      try {
        await saying(step)
        await fleet.restartOnceKilled(() => isKilled)
        expect(await storyOf(step)).toEqual(onceIn(step))
      } finally {
        platform.onFetch(null)
        platform.onEvent(null)
      }
    },
  )
})
