import { expect, test } from 'vitest'
import { createSecrets } from '../tabs/secrets.ts'
import type { SnapshotNode } from './format-snapshot.ts'
import { scrubNodes } from './scrub-nodes.ts'

const secrets = createSecrets()
secrets.add('tops3cret-value')

function node(role: string, more: Partial<Exclude<SnapshotNode, string>> = {}): SnapshotNode {
  return { role, states: [], children: [], ...more }
}

test.each<[string, readonly SnapshotNode[]]>([
  ['in two elements', [node('generic', { text: 'tops' }), node('generic', { text: '3cret-value' })]],
  ['in names of elements', [node('link', { name: 'tops3' }), node('link', { name: 'cret-value' })]],
  ['letter by letter', Array.from('tops3cret-value').map((text) => node('generic', { text }))],
  [
    'in words between elements',
    [node('paragraph', { children: ['for tops3', node('strong', { text: 'cret-value' })] })],
  ],
  ['at different depths', [node('list', { children: [node('listitem', { text: 'tops3cret' })] }), '-value']],
  ['whole, in upper case', [node('heading', { name: 'TOPS3CRET-VALUE' })]],
])('a secret that a page shows %s is taken out', (_how, nodes) => {
  const scrubbed = JSON.stringify(scrubNodes(nodes, secrets.find))
  expect(scrubbed).toContain('[secret]')
  expect(scrubbed).not.toMatch(/tops|3cret|value/i)
})

test('a tree without secrets is unchanged', () => {
  const nodes = [
    node('list', { name: 'a', children: ['tops', node('listitem', { text: 'value', ref: 'e1' })] }),
  ]
  expect(scrubNodes(nodes, secrets.find)).toEqual(nodes)
})
