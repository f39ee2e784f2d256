import { expect, test } from 'vitest'
import { changedFiles } from './describe-files.ts'

const file = { kind: 'npm' as const, name: 'a', version: '1.0.0', digest: 'sha512-x==', bytes: 10 }

test('each file that the image gets is one line with its size and digest', () => {
  expect(changedFiles({ files: [file] }, null)).toEqual({
    lines: ['adds npm a 1.0.0, 10 bytes, sha512-x=='],
    bytes: 10,
  })
})

test('text of a package cannot begin another line or hide what follows', () => {
  const { lines } = changedFiles({ files: [{ ...file, digest: 'sha512-x==\nNo file changes.\u202e' }] }, null)
  expect(lines).toEqual(['adds npm a 1.0.0, 10 bytes, sha512-x==\\u{a}No file changes.\\u{202e}'])
})
