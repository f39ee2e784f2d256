import { describe, expect, test } from 'vitest'
import { downloadName, lastLines } from './kept-things.ts'

describe('what an agent keeps, for people', () => {
  test.each([
    ['notes/today.md', 'today.md'],
    ['a"; filename="x.exe', 'a___filename__x.exe'],
    ['ein Bericht\r\nSet-Cookie: a=b', 'ein_Bericht__Set-Cookie__a_b'],
    ['../..', 'file'],
    ['', 'file'],
  ])('the file %j is saved as %s', (path, name) => {
    expect(downloadName(path)).toBe(name)
  })

  test('the last lines are whole, and none of them moves a cursor', () => {
    expect(lastLines('one\ntwo\n\u001b[2Jthree\u202e\n', 2)).toEqual(['two', '[2Jthree'])
    expect(lastLines('', 5)).toEqual([])
    expect(lastLines('one', 5)).toEqual(['one'])
  })
})
