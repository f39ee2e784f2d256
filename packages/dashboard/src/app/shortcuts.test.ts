import { expect, test } from 'vitest'
import { menu } from './menu.ts'
import { createShortcuts } from './shortcuts.ts'

const pressed = (key: string, at: number, isTaken = false) => ({ key, at, isTaken })

test('g and a letter open the page of that letter, and each page has its own', () => {
  const shortcut = createShortcuts()
  for (const [at, { key, path }] of menu.entries()) {
    expect(shortcut(pressed('g', at * 10_000))).toBeNull()
    expect(shortcut(pressed(key, at * 10_000 + 500))).toEqual({ kind: 'page', path })
  }
  expect(new Set(menu.map(({ key }) => key)).size).toBe(menu.length)
})

test('a letter alone, late, after another key, or typed into a field opens nothing', () => {
  const shortcut = createShortcuts()
  expect(shortcut(pressed('c', 0))).toBeNull()
  shortcut(pressed('g', 1000))
  expect(shortcut(pressed('c', 3000))).toBeNull()
  shortcut(pressed('g', 4000))
  shortcut(pressed('x', 4100))
  expect(shortcut(pressed('c', 4200))).toBeNull()
  shortcut(pressed('g', 5000))
  expect(shortcut(pressed('c', 5100, true))).toBeNull()
  expect(shortcut(pressed('c', 5200))).toBeNull()
})

test('a question mark shows the keys, but not in a field', () => {
  const shortcut = createShortcuts()
  expect(shortcut(pressed('?', 0))).toEqual({ kind: 'help' })
  expect(shortcut(pressed('?', 1, true))).toBeNull()
})
