import { describe, expect, test } from 'vitest'
import { isAtTerminal, requireAtTerminal, requireOwner } from './at-terminal.ts'
import type { Caller } from './caller.ts'

const at = (channel: string): Caller => ({ kind: 'human', role: 'owner', channel })
const nobody: readonly Caller[] = [
  { kind: 'agent', agentId: 'cli', token: 'door', run: null },
  { kind: 'agent', agentId: 'a', token: 'door', run: null, channel: 'api' } as Caller,
  { kind: 'internal' },
  { kind: 'system' },
]

describe('where a person is', () => {
  test.each([
    ['cli', true],
    ['api', true],
    ['dashboard', true],
    // A chat message may contain another person's text.
    ['telegram', false],
    ['', false],
  ])('on %s: at the terminal %o', (channel, terminal) => {
    expect(isAtTerminal(at(channel))).toBe(terminal)
  })

  test('no agent, no program and not the mesh itself is a person there, whatever it is called', () => {
    for (const caller of nobody) {
      expect(isAtTerminal(caller)).toBe(false)
      expect(() => requireAtTerminal(caller, 'confirm it')).toThrow(
        expect.objectContaining({ code: 'human-only', detail: expect.stringContaining('confirm it') }),
      )
    }
    expect(requireAtTerminal(at('cli'), 'confirm it')).toEqual(at('cli'))
  })
})

describe('the owner', () => {
  test('the owner is a caller that the mesh knows as a program of its owner', () => {
    expect(() =>
      requireOwner({ kind: 'human', role: 'owner', channel: 'cli', local: true }, 'store keys'),
    ).not.toThrow()
  })

  test('the owner is no other caller: neither an outside session nor an agent can claim it', () => {
    const claims = {
      kind: 'agent',
      agentId: 'a',
      token: 'door',
      run: null,
      role: 'owner',
      local: true,
    } as Caller
    for (const caller of [...nobody, at('cli'), at('dashboard'), claims]) {
      expect(() => requireOwner(caller, 'store keys')).toThrow(
        expect.objectContaining({ code: 'denied', detail: expect.stringContaining('store keys') }),
      )
    }
  })
})
