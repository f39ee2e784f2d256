import { describe, expect, it } from 'vitest'
import { wantedHarness } from './harness.ts'

describe('wantedHarness', () => {
  it('a command has its words, and those behind the two dashes', () => {
    const of = (operands: readonly string[], options: object) =>
      wantedHarness({ operands: ['coder', ...operands], options: { ...options } })
    expect(of([], { command: ['my-agent', 'acp'] })).toEqual({ command: ['my-agent', 'acp'] })
    expect(of(['--acp', 'codex'], { command: ['my-agent'] })).toEqual({
      command: ['my-agent', '--acp', 'codex'],
    })
    expect(of(['codex'], {})).toBe('codex')
    expect(of([], {})).toBeUndefined()
    expect(of([], { off: true })).toBeNull()
  })

  it('a word that is neither a known harness nor part of a command is refused', () => {
    const of = (...operands: string[]) => wantedHarness({ operands: ['coder', ...operands], options: {} })
    expect(() => of('claud-code')).toThrow(
      expect.objectContaining({ detail: expect.stringContaining('claude-code') }),
    )
    expect(() => of('codex', 'gemini')).toThrow(expect.objectContaining({ code: 'bad-request' }))
  })
})
