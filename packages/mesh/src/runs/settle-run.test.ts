import { afterEach, describe, expect, test } from 'vitest'
import type { Caller } from '../policy/caller.ts'
import { aLedgerWorld, person } from './ledger-world.ts'
import type { LedgerWorld } from './ledger-world.ts'

let world: LedgerWorld
afterEach(() => world.ledger.close())

const said = { kind: 'chat', message: 'look', session: 'main' } as const
const recipientsOf = (run: { readonly id: string }) =>
  world.ledger.outbox.ofRun(run.id).map(({ recipient }) => recipient)

describe('the end of a run', () => {
  test('is told to the person who asked for it, once', async () => {
    world = aLedgerWorld()
    world.ledger.start()
    const inChat: Caller = { kind: 'human', channel: 'telegram' }
    const run = world.ledger.submitRun(inChat, { agentId: 'ada', input: said })
    await world.clock.settle()
    world.agents.finish('ada')
    await world.clock.settle()
    expect(world.state(run)).toBe('done')
    expect(recipientsOf(run)).toEqual(['human:telegram'])
  })

  test('that works for a run of ours is no note to a person, who else is answered twice for one question', async () => {
    world = aLedgerWorld()
    world.ledger.start()
    const parent = world.chat('ada')
    await world.clock.settle()
    const child = world.ledger.submitRun(person, { agentId: 'bob', input: said, parent })
    await world.clock.settle()
    world.agents.finish('bob')
    world.agents.finish('ada')
    await world.clock.settle()
    expect([world.state(parent), world.state(child)]).toEqual(['done', 'done'])
    expect(recipientsOf(child)).toEqual([])
    expect(recipientsOf(parent)).toEqual(['human:cli'])
  })

  test.each([
    ['an agent', { kind: 'agent', agentId: 'bob', token: 'door', run: null }],
    ['this machine', { kind: 'internal' }],
  ] as const)('that %s asked for is told to nobody outside', async (_who, caller) => {
    world = aLedgerWorld()
    world.ledger.start()
    const run = world.ledger.submitRun(caller, { agentId: 'ada', input: said })
    await world.clock.settle()
    world.agents.finish('ada')
    await world.clock.settle()
    expect(world.state(run)).toBe('done')
    expect(recipientsOf(run)).toEqual([])
  })
})
