import { expect, it } from 'vitest'
import { limitDocs } from './limit-docs.ts'

it('a number whose name only ends in the letters of a unit is printed without it', () => {
  const text = [
    'export const albumsMax = 1000',
    'export const waitMs = 1000',
    'export const limits = { ms: 90_000, formsMax: 500 }',
  ].join('\n')
  const page = limitDocs([{ path: 'packages/protocol/src/bounds.ts', isTest: false, text } as never])
  for (const row of ['albumsMax | 1,000', 'waitMs | 1 s', 'limits.ms | 90 s', 'limits.formsMax | 500'])
    expect(page).toContain(`| ${row} |`)
})
