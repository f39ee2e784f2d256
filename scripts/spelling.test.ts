import { expect, test } from 'vitest'
import { readWords } from './spelling.ts'

test('words of prose are checked, without their punctuation and possessive', () => {
  expect(readWords("The **mesh**'s owner’s well-known “purpose”, (see below).")).toEqual([
    'mesh',
    'owner',
    'well',
    'known',
    'purpose',
    'see',
    'below',
  ])
})

test('code, links, paths, identifiers and escapes are no words', () => {
  const text =
    'Say `npm rnu`, [guide](docs/giude.md), packages/mehs, runSubmited, max_byts, gVisor, ENOENT, 3rdd,\\nand ${fooo} ends'
  expect(readWords(text)).toEqual(['guide', 'and', 'ends'])
})

test('a word in a block of code is not checked', () => {
  expect(readWords('before\n```sh\nflotila start\n```\nafter')).toEqual(['before', 'after'])
})
