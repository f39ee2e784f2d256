import { describe, expect, test } from 'vitest'
import { formatSnapshot } from './format-snapshot.ts'
import type { SnapshotNode } from './format-snapshot.ts'

const node = (fields: Partial<Exclude<SnapshotNode, string>> & { role: string }): SnapshotNode => ({
  states: [],
  children: [],
  ...fields,
})

function format(nodes: readonly SnapshotNode[], hidden: readonly string[] = []) {
  let given = 0
  return formatSnapshot(nodes, {
    give: () => {
      given += 1
      return `e${given}`
    },
    isHidden: (inner) => hidden.includes(inner),
    clean: (text) => text.replaceAll('hush', '[secret]'),
  })
}

describe('a snapshot', () => {
  test('a snapshot has one line for each meaningful node', () => {
    const inner = node({ role: 'button', name: 'Send', ref: 'f1e3', states: ['disabled'] })
    const { text, elements, leftOut } = format([
      node({
        role: 'generic',
        ref: 'e1',
        children: [node({ role: 'list', ref: 'e2', children: ['one', inner] })],
      }),
    ])
    expect(text).toBe('- list [e1]\n  - text: "one"\n  - button "Send" [e2] [disabled]')
    expect([elements, leftOut]).toEqual([2, ''])
  })

  test('a snapshot hides field values and removes secrets from all text', () => {
    const field = node({ role: 'textbox', name: 'hush', ref: 'e5', text: 'hunter2', url: '/?a=hush' })
    expect(format([field], ['e5']).text).toBe('- textbox "[secret]" [e1] -> /?a=[secret]: [hidden]')
    expect(format([field]).text).toContain('"hunter2"')
  })

  test('a snapshot gives out two hundred references and counts the rest', () => {
    const many = Array.from({ length: 250 }, (_, at) => node({ role: 'link', name: `${at}`, ref: `x${at}` }))
    const { elements, leftOut, text } = format(many)
    expect([elements, text.split('\n').length]).toEqual([200, 200])
    expect(leftOut).toContain('50 elements after the first 200')
  })

  test('a snapshot ends at its depth and its length, and says so', () => {
    let deep = node({ role: 'button', name: 'bottom' })
    for (let depth = 0; depth < 20; depth += 1) deep = node({ role: 'group', children: [deep] })
    expect(format([deep])).toMatchObject({ text: expect.not.stringContaining('bottom') })
    expect(format([deep]).leftOut).toContain('deeper than 12 levels')
    const long = format(Array.from({ length: 100 }, () => 'a'.repeat(499)))
    expect(long.text.length).toBeLessThanOrEqual(30_000)
    expect(long.leftOut).toContain('beyond 30000 characters')
  })
})
