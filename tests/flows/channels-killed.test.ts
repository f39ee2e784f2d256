import process from 'node:process'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { aCassette, says } from '../support/cassettes.ts'
import { startChannelMesh } from '../support/channel-mesh.ts'
import type { ChannelMesh } from '../support/channel-mesh.ts'
import { eventually } from '../support/eventually.ts'
import { openLedger } from '../support/ledger-view.ts'

const isSoak = process.env['FLOTILLA_SOAK'] === '1'
const answer = 'The report is written.'
const cassette = aCassette({ agents: ['clerk'], when: '^report', turns: [says(answer)] })

let fleet: ChannelMesh
let platform: ChannelMesh['platform']

beforeAll(async () => {
  fleet = await startChannelMesh({ cassettes: { channels: cassette } })
  platform = fleet.platform
  await fleet.pair('first')
})
afterAll(() => fleet?.stop())

describe('a mesh that is killed between any two steps', () => {
  const messageRow = 'INSERT OR IGNORE INTO channel_messages'
  const letterRow = 'INSERT OR IGNORE INTO channel_letters'
  const begun = 'UPDATE channel_letters SET begun_piece = ?, attempts'
  const out = 'UPDATE channel_letters SET pieces_out'
  const settled = 'UPDATE channel_letters SET state'
  const delivered = "UPDATE outbox SET state = 'delivered'"

  const moments = [
    ['received, and no row written', `before ${messageRow}`],
    ['the row written, and not acknowledged', `after ${messageRow}`],
    ['answered, and no letter written', `before ${letterRow}`],
    ['the letter written, and nothing sent', `after ${letterRow}`],
    ['a piece begun, and not sent', `after ${begun}`],
    ['sent, and not written that it is', `before ${out}`],
    ['written that it is sent, and not settled', `after ${out}`],
    ['settled, and the outcome not marked', `before ${delivered}`],
    ['marked, and not committed', `before ${settled}`],
    ['all over', `after ${settled}`],
  ] as const
  /** Before and after a row of an incoming message, and of each row that is written for a delivery. */
  const some = [
    'the row written, and not acknowledged',
    'answered, and no letter written',
    'a piece begun, and not sent',
    'settled, and the outcome not marked',
  ]

  it.each(moments.filter(([step]) => isSoak || some.includes(step)))(
    '%s: the answer is there once',
    async (step, moment) => {
      const conversation = step
      await fleet.killAt(moment)
      const saying = fleet.say(step.replaceAll(' ', '-'), { conversation, text: '@clerk report again' })
      await fleet.restartOnceKilled()
      await saying
      const answers = () => platform.in(conversation).filter(({ text }) => text.includes(answer))
      await eventually('the answer is shown', () => answers().length > 0)
      await fleet.allDelivered()
      const ledger = openLedger(fleet.mesh.home)
      try {
        const rows = ledger.rows(
          'SELECT run_id FROM channel_messages WHERE message_id = ?',
          step.replaceAll(' ', '-'),
        )
        expect(rows).toHaveLength(1)
        expect(
          ledger.rows(
            'SELECT run_id FROM channel_runs WHERE json_extract(place, ?) = ?',
            '$.conversationId',
            conversation,
          ),
        ).toEqual(rows)
        expect(
          ledger.rows('SELECT state FROM outbox WHERE run_id = ?', String(rows[0]?.['run_id'])),
        ).toMatchObject([{ state: 'delivered' }])
      } finally {
        ledger.close()
      }
      expect(platform.in(conversation).map(({ text }) => text)).toEqual([expect.stringContaining(answer)])
    },
  )

  it('a mesh that is killed between any two steps while the platform answers: what it has already is not shown twice', async () => {
    let killed = false
    platform.onEvent(async ({ conversation }) => {
      if (conversation !== 'held' || killed) return
      killed = true
      await fleet.mesh.kill9()
    })
    await fleet.say('held', { conversation: 'held', text: '@clerk report once more' })
    await fleet.restartOnceKilled(() => killed)
    platform.onEvent(null)
    await fleet.allDelivered()
    expect(platform.in('held').map(({ text }) => text)).toEqual([expect.stringContaining(answer)])
  })
})
