import { expect, test } from 'vitest'
import { sitePages } from './site-pages.ts'

const files = new Map([
  [
    'README.md',
    '# Flotilla\n\n![Fleet](docs/images/fleet.png) [Guide](docs/guide/README.md) [Code](bench/main.ts)\n',
  ],
  ['docs/guide/README.md', '# The guide\n\n1. [Money](money.md)\n2. [Backup](backup.md)\n'],
  [
    'docs/guide/backup.md',
    '# `flotilla` backup\n\n[Limits](money.md#limits), [top](#top), [site](https://a.example/x.md)\n',
  ],
  ['docs/guide/money.md', '# Money\n\n## Limits\n'],
])
const pages = new Map(sitePages(files).map(({ path, text }) => [path, text]))

test('pages are where their files are, and README.md is the first page of its folder', () => {
  expect([...pages.keys()]).toEqual(['index.md', 'guide/index.md', 'guide/backup.md', 'guide/money.md'])
})

test('the first heading is the title, and the order of a page is that of its folder README', () => {
  expect(pages.get('guide/backup.md')).toMatch(
    /^---\ntitle: "flotilla backup"\nsidebar:\n {2}order: 2\n---\n/,
  )
  expect(pages.get('guide/backup.md')).not.toContain('# `flotilla`')
})

test('links lead to addresses of the site, and a file that is not on it is named without a link', () => {
  expect(pages.get('index.md')).toContain('![Fleet](/images/fleet.png) [Guide](/guide/) Code')
  expect(pages.get('guide/backup.md')).toContain(
    '[Limits](/guide/money/#limits), [top](#top), [site](https://a.example/x.md)',
  )
})
