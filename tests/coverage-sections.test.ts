import { expect, test } from 'vitest'
import { sectionsIn } from './coverage-sections.ts'

test('a section answers to its heading, and an item to its heading and its own number', () => {
  const page =
    '# Title\n1. no section\n## 1. One\ntext\n## 6. Six\n1. **A**\n2. **B**\n   1. nested\n### 6.3 Three\n## End\n9. x\n'
  expect([...sectionsIn(page)]).toEqual(['1', '6', '6.1', '6.2', '6.3'])
})
