import { findWorkspaceFile, workspaceFiles } from '@flotilla/protocol/workspace-file'
import { describe, expect, test } from 'vitest'
import { verifies } from '../../../../tests/verifies.ts'
import { joinBootstrap } from './bootstrap-files.ts'

const text = (name: string, content: string) => ({ file: findWorkspaceFile(name)!, content }) // a name of the contract

describe('the bootstrap', () => {
  test('with every file at its longest, the flexible files share what the others leave', () => {
    verifies('limits:bootstrap-chars')
    const inPrompt = workspaceFiles.filter((file) => file.bootstrapOrder !== null)
    const texts = inPrompt.map((file) => text(file.name, `${file.name[0]}`.repeat(60_000)))
    const joined = joinBootstrap(texts)
    expect(joined.length).toBeLessThanOrEqual(48_000)
    expect(joined.length).toBeGreaterThan(47_900)
    const lengths = Object.fromEntries(
      joined
        .split('\n\n---\n\n')
        .map((part) => [part.split('\n')[0], part.split('\n').slice(1).join('\n').length]),
    )
    expect(lengths).toMatchObject({
      '[SYSTEM.md]': 6000,
      '[INSTRUCTIONS.md]': 12_000,
      '[SOUL.md]': 4000,
      '[USER.md]': 4000,
      '[MEMORY.md]': 16_000,
    })
  })

  test('a file above its cap ends with a note', () => {
    const joined = joinBootstrap([text('SOUL.md', 'x'.repeat(5000))])
    expect(joined.endsWith('longer than its limit; memory_search finds the rest]')).toBe(true)
  })

  test('a project that says too much cannot push MEMORY.md out', () => {
    const joined = joinBootstrap([
      text('PROJECT.md', 'p'.repeat(500_000)),
      text('MEMORY.md', `${'m'.repeat(15_000)}the last thing remembered`),
    ])
    expect(joined.length).toBeLessThanOrEqual(48_000)
    expect(joined).toContain('the last thing remembered')
    expect(joined.indexOf('memory_search')).toBeLessThan(joined.indexOf('[MEMORY.md]'))
  })

  test('the files come in their order', () => {
    const inPrompt = workspaceFiles
      .filter((file) => file.bootstrapOrder !== null)
      .toSorted((a, b) => a.bootstrapOrder - b.bootstrapOrder)
    expect(inPrompt.map((file) => file.name)).toEqual([
      'PROJECT.md',
      'SYSTEM.md',
      'INSTRUCTIONS.md',
      'SOUL.md',
      'USER.md',
      'MEMORY.md',
      'AGENTS.md',
      'INTERFACE.md',
    ])
  })

  test('AGENTS.md and INTERFACE.md are part of the prompt, and PROJECT.md comes first for the room that is left', () => {
    expect(joinBootstrap([text('AGENTS.md', 'use npm test'), text('INTERFACE.md', 'answer in JSON')])).toBe(
      '[AGENTS.md]\nuse npm test\n\n---\n\n[INTERFACE.md]\nanswer in JSON',
    )
    const crowded = joinBootstrap([
      text('PROJECT.md', 'p'.repeat(60_000)),
      text('MEMORY.md', 'm'.repeat(16_000)),
      text('AGENTS.md', 'a'.repeat(12_000)),
    ])
    expect(crowded).toContain('m'.repeat(16_000))
    expect(crowded).not.toContain('aaa')
    expect(crowded.length).toBeLessThanOrEqual(48_000)
  })

  test('invisible characters are removed', () => {
    expect(joinBootstrap([text('SOUL.md', 'be\u200B good')])).toBe('[SOUL.md]\nbe good')
  })

  test('nothing gives nothing', () => {
    expect(joinBootstrap([])).toBe('')
  })
})
