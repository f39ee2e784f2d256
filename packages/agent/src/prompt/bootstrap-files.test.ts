import { findWorkspaceFile, workspaceFiles } from '@flotilla/protocol/workspace-file'
import { describe, expect, test } from 'vitest'
import { verifies } from '../../../../tests/verifies.ts'
import { joinBootstrap } from './bootstrap-files.ts'

const text = (name: string, content: string) => ({ file: findWorkspaceFile(name)!, content }) // a name of the contract

describe('the bootstrap', () => {
  test('every file at its longest fits, and only the one without a cap gives way', () => {
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
    expect(joined.endsWith('longer than its limit; memory_search finds what is missing]')).toBe(true)
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
    ])
  })

  test('what nobody can see is taken out', () => {
    expect(joinBootstrap([text('SOUL.md', 'be\u200B good')])).toBe('[SOUL.md]\nbe good')
  })

  test('nothing gives nothing', () => {
    expect(joinBootstrap([])).toBe('')
  })
})
