import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { tarArchive, tarFile } from '../../../fleet/src/sandbox/tar-archive.ts'
import { createTarFilter } from './filter-tar.ts'
import type { TarBounds } from './filter-tar.ts'

const unusable = expect.objectContaining({ code: 'unprocessable' })
const wide: TarBounds = {
  entriesMax: 1000,
  bytesMax: 10_000_000,
  bytesBy: 'its limit',
  readMaxBytes: 10_000_000,
}

/** A tar header with its content, in the layout of the format. */
function tarEntry(
  name: string,
  more: { kind?: string; link?: string; content?: string; size?: Buffer; mapFollows?: true } = {},
): Buffer {
  const { kind = '0', link = '', content = '' } = more
  const header = Buffer.alloc(512)
  header.write(name, 0, 'latin1')
  header.write('0000600\0', 100)
  header.write(`${content.length.toString(8).padStart(11, '0')}\0`, 124)
  more.size?.copy(header, 124)
  if (more.mapFollows) header[482] = 1
  header.write(' '.repeat(8), 148)
  header.write(kind, 156, 'latin1')
  header.write(link, 157, 'latin1')
  header.write('ustar\u000000', 257)
  const sum = header.reduce((total, byte) => total + byte, 0)
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
  const rest = (512 - (content.length % 512)) % 512
  return Buffer.concat([header, Buffer.from(content, 'latin1'), Buffer.alloc(rest)])
}

function pax(key: string, value: string, kind: 'x' | 'g' = 'x'): Buffer {
  const rest = ` ${key}=${value}\n`
  let length = rest.length
  while (String(length).length + rest.length !== length) length = String(length).length + rest.length
  return tarEntry('pax', { kind, content: `${length}${rest}` })
}

/** A sparse entry of GNU tar with extension blocks between header and content. */
function oldSparse(name: string, { blocks, content }: { blocks: number; content: string }): Buffer {
  const entry = tarEntry(name, { kind: 'S', content, ...(blocks > 0 ? { mapFollows: true } : {}) })
  const map = Array.from({ length: blocks }, (_, at) => {
    const block = Buffer.alloc(512, 7)
    block[504] = at + 1 < blocks ? 1 : 0
    return block
  })
  return Buffer.concat([entry.subarray(0, 512), ...map, entry.subarray(512)])
}

const tarEnd = Buffer.alloc(1024)

/** Filters an archive in pieces of an odd length, as a stream delivers it. */
function filtered(parts: readonly Buffer[], bounds = wide) {
  const filter = createTarFilter(bounds)
  const bytes = Buffer.concat(parts)
  const out: Buffer[] = []
  for (let at = 0; at < bytes.length; at += 301) out.push(...filter.take(bytes.subarray(at, at + 301)))
  const { pieces, data } = filter.end()
  return { archive: Buffer.concat([...out, ...pieces]), data }
}

describe('the data of an agent', () => {
  test('the data of an agent is taken with files, folders and links, long names too', async () => {
    const own = await Array.fromAsync(
      tarArchive([tarFile('a/b', Buffer.from('content'), { uid: 1000, mode: 0o600 })]),
    )
    expect(filtered(own.map((piece) => Buffer.from(piece))).data).toMatchObject({ entries: 1, bytes: 7 })
    const longName = `${'d/'.repeat(100)}file`
    const { data } = filtered([
      tarEntry('./', { kind: '5' }),
      tarEntry('./link', { kind: '2', link: '/usr/bin/node' }),
      tarEntry('./a'),
      tarEntry('./hard', { kind: '1', link: './a' }),
      tarEntry('././@LongLink', { kind: 'L', content: `${longName}\0` }),
      tarEntry('short', { content: 'x'.repeat(600) }),
      pax('path', `${longName}-2`),
      tarEntry('short'),
      tarEnd,
    ])
    expect(data).toEqual({ entries: 6, bytes: 600, skipped: { count: 0, first: [] }, endedBy: null })
  })

  test.each([
    ['a name that leads upwards', [tarEntry('../x')], 'leads out'],
    ['one in the middle', [tarEntry('a/../../x')], 'leads out'],
    ['an absolute name', [tarEntry('/etc/cron.d/x')], 'leads out'],
    ['an empty name', [tarEntry('')], 'leads out'],
    [
      'a long name that leads upwards',
      [tarEntry('l', { kind: 'L', content: '../x\0' }), tarEntry('x')],
      'leads out',
    ],
    ['one by pax', [pax('path', '../x'), tarEntry('x')], 'leads out'],
    ['a name with a zero byte', [pax('path', 'a\0b'), tarEntry('x')], 'leads out'],
    [
      'a path that no system takes',
      [pax('path', `${'a/'.repeat(2000)}x`), tarEntry('x')],
      'longer than 3840',
    ],
    ['a name that no system takes', [pax('path', 'a'.repeat(256)), tarEntry('x')], 'longer than 255'],
    ['a device', [tarEntry('null', { kind: '3' })], 'device'],
    ['a block device', [tarEntry('sda', { kind: '4' })], 'device'],
    ['a pipe', [tarEntry('pipe', { kind: '6' })], 'named pipe'],
    ['a type that is not known', [tarEntry('odd', { kind: 'Z', content: 'odd' })], 'unknown type'],
    ['an old sparse entry', [oldSparse('s', { blocks: 0, content: 'map' })], 'sparse'],
    [
      'an old sparse entry with a long map',
      [oldSparse('s', { blocks: 3, content: 'x'.repeat(700) })],
      'sparse',
    ],
    [
      'a path of 70,000 bytes',
      [pax('path', `${'a/'.repeat(35_000)}x`), tarEntry('x', { content: 'lost' })],
      'longer than 3840',
    ],
    [
      'one of GNU',
      [tarEntry('l', { kind: 'L', content: 'x'.repeat(70_000) }), tarEntry('x', { content: 'lost' })],
      'longer than 3840',
    ],
    [
      'a file whose cut path ends with a slash',
      [pax('path', 'a/'.repeat(35_000)), tarEntry('x', { content: 'lost' })],
      'longer than 3840',
    ],
    [
      'a target of 70,000 bytes',
      [pax('linkpath', 'a'.repeat(70_000)), tarEntry('l', { kind: '2' })],
      'impossible target',
    ],
    ['a sparse entry', [pax('GNU.sparse.major', '1'), tarEntry('s', { content: 'map' })], 'sparse'],
    ['a hard link out of it', [tarEntry('l', { kind: '1', link: '/etc/shadow' })], 'leads out'],
    ['a hard link upwards', [tarEntry('l', { kind: '1', link: '../../x' })], 'leads out'],
    ['a hard link to what is skipped', [tarEntry('l', { kind: '1', link: 'nothing' })], 'not in the backup'],
    ['a symbolic link upwards', [tarEntry('l', { kind: '2', link: 'a/../../x' })], 'leads upwards'],
    ['a symbolic link to nowhere', [tarEntry('l', { kind: '2' })], 'impossible target'],
    [
      'a file behind a link',
      [tarEntry('l', { kind: '2', link: '/etc' }), tarEntry('l/passwd')],
      'through a symbolic link',
    ],
    [
      'one behind a hard link to a link',
      [
        tarEntry('l', { kind: '2', link: '/etc' }),
        tarEntry('m', { kind: '1', link: 'l' }),
        tarEntry('m/passwd'),
      ],
      'through a symbolic link',
    ],
    ['a file below a file', [tarEntry('f'), tarEntry('f/x')], 'through a file'],
    ['a name twice', [tarEntry('d', { kind: '5' }), tarEntry('d', { kind: '2', link: '/etc' })], 'same name'],
  ])(
    'the data of an agent is taken without %s, which is named, and with what follows',
    (_what, parts, why) => {
      const { archive, data } = filtered([...parts, tarEntry('note', { content: 'kept' }), tarEnd])
      expect(data.skipped).toMatchObject({ count: 1, first: [{ why: expect.stringContaining(why) }] })
      expect(archive.includes('kept')).toBe(true)
      // Filtering its own output changes nothing, because reader and writer use the same rules.
      expect(filtered([archive])).toEqual({ archive, data: { ...data, skipped: { count: 0, first: [] } } })
    },
  )

  test.each([
    ['a symbolic link', { kind: '2', link: '/etc' }],
    ['a file', {}],
  ])(
    'the data of an agent keeps a folder without an entry of its own, where %s of its name comes later',
    (_what, of) => {
      const { skipped } = filtered([tarEntry('a/b/c'), tarEntry('a', of), tarEntry('a/b', of), tarEnd]).data
      expect(skipped).toEqual({
        count: 2,
        first: ['a', 'a/b'].map((name) => ({ name, why: 'a second entry of the same name' })),
      })
    },
  )

  test('the data of an agent keeps values of global records, and passes over long ones that it does not use', () => {
    const { archive, data } = filtered([
      pax('comment', 'c'.repeat(300_000), 'g'),
      pax('mtime', '7.5', 'g'),
      pax('k'.repeat(300_000), 'v'),
      tarEntry('a', { content: 'x' }),
      pax('mtime', '8.5'),
      tarEntry('b', { content: 'x' }),
      tarEnd,
    ])
    expect(data).toMatchObject({ entries: 2, skipped: { count: 0 } })
    expect([...archive.toString('latin1').matchAll(/ mtime=(\S+)\n/g)].map(([, time]) => time)).toEqual([
      '7.5',
      '8.5',
    ])
  })

  test('the data of an agent keeps names of any bytes, with lengths in extended headers counted in bytes', () => {
    // Decoded as UTF-8 and encoded again, each of these bytes becomes three, so that the name ends in a new pax
    // record.
    const name = `${'a'.repeat(80)}${'\u00ff'.repeat(9)}18 size=999999999`
    const parts = [
      pax('path', name),
      tarEntry('x', { content: 'first' }),
      tarEntry('note', { content: 'kept' }),
    ]
    const { archive, data } = filtered([...parts, tarEnd])
    expect(data).toMatchObject({ entries: 2, bytes: 9, skipped: { count: 0 } })
    expect(archive.includes(Buffer.from(name, 'latin1'))).toBe(true)
    expect(filtered([archive])).toEqual({ archive, data })
  })

  test('the data of an agent belongs to the agent again, without what gives more rights than its owner has', () => {
    const file = tarEntry('tool')
    file.write('0006755\0', 100)
    file.write(' '.repeat(8), 148)
    file.write(
      `${file
        .reduce((total, byte) => total + byte, 0)
        .toString(8)
        .padStart(6, '0')}\0 `,
      148,
    )
    const { archive } = filtered([file, tarEnd])
    expect(archive.toString('latin1', 100, 124)).toBe('0000755\x000001750\x000001750\x00')
  })

  test.each(['-1.5', '99999999999999999999', '-99999999999999999999', '4294967296.25'])(
    'the data of an agent keeps a time of %s as near as a disk can',
    (time) => {
      const { archive, data } = filtered([pax('mtime', time), tarEntry('old', { content: 'x' }), tarEnd])
      expect(data.entries).toBe(1)
      const [, kept = ''] = / mtime=(\S+)\n/.exec(archive.toString('latin1')) ?? []
      const near = Math.min(Math.max(Number(time), -(2 ** 31)), 2 ** 34 - 2 ** 31 - 1)
      expect(Number(kept)).toBe(near)
    },
  )

  test('the data of an agent is refused where it breaks off, is damaged, or goes on behind its end', () => {
    const entry = tarEntry('a', { content: 'x'.repeat(600) })
    expect(() => filtered([entry])).toThrow(unusable)
    expect(() => filtered([entry.subarray(0, 700)])).toThrow(unusable)
    const damaged = Buffer.from(entry)
    damaged[3] = 65
    expect(() => filtered([damaged, tarEnd])).toThrow(unusable)
    expect(() => filtered([tarEnd, entry, tarEnd])).toThrow(unusable)
    const negative = Buffer.alloc(12, 0xff)
    expect(() => filtered([tarEntry('n', { size: negative }), tarEnd])).toThrow(unusable)
    expect(() => filtered([tarEntry('p', { kind: 'x', content: '99 path=x\n' }), entry, tarEnd])).toThrow(
      unusable,
    )
  })

  test('keeps what was complete if its packer ended it early, with zeros in place of the missing end', () => {
    const filter = createTarFilter(wide)
    const first = tarEntry('first', { content: 'kept' })
    const second = tarEntry('second', { content: 'y'.repeat(300_000) })
    const out = [...filter.take(Buffer.concat([first, second.subarray(0, 1512)]))]
    const { pieces, data } = filter.endEarly()
    expect(data).toMatchObject({
      entries: 2,
      skipped: { count: 1, first: [{ name: 'second', why: expect.stringContaining('became shorter') }] },
      endedBy: expect.stringContaining('ended early'),
    })
    const archive = Buffer.concat([...out, ...pieces])
    expect(filtered([archive]).data).toMatchObject({ entries: 2, bytes: 300_004, endedBy: null })
    expect(archive.includes(`${'y'.repeat(1000)}\0`)).toBe(true)
  })

  test('is kept without an entry that was skipped when its packer ended early', () => {
    const filter = createTarFilter({ ...wide, bytesMax: 10 })
    const out = [
      ...filter.take(
        Buffer.concat([tarEntry('first'), tarEntry('large', { content: 'y'.repeat(5000) })]).subarray(
          0,
          2000,
        ),
      ),
    ]
    const { pieces, data } = filter.endEarly()
    expect(data).toMatchObject({ entries: 1, skipped: { count: 1 } })
    expect(filtered([...out, ...pieces]).data.entries).toBe(1)
  })

  test('a data archive of arbitrary bytes is rejected with a problem or filtered to a valid archive', () => {
    const parts = fc.array(
      fc.oneof(
        fc.uint8Array({ maxLength: 600 }).map((bytes) => Buffer.from(bytes)),
        fc.constantFrom(
          tarEntry('a', { content: 'x' }),
          tarEntry('d', { kind: '5' }),
          pax('path', 'p'),
          tarEnd,
        ),
      ),
      { maxLength: 6 },
    )
    fc.assert(
      fc.property(parts, (all) => {
        try {
          const { archive, data } = filtered(all)
          expect(filtered([archive]).data).toEqual({ ...data, skipped: { count: 0, first: [] } })
        } catch (error) {
          expect(error).toEqual(unusable)
        }
      }),
    )
  })
})

describe('bounds of an agent’s data', () => {
  const big = (name: string) => tarEntry(name, { content: 'x'.repeat(5000) })

  test('a file larger than the remaining space is skipped by name, and later smaller ones are kept', () => {
    const parts = [big('1'), big('2'), tarEntry('note', { content: 'kept' }), tarEnd]
    const { data } = filtered(parts, { ...wide, bytesMax: 6000 })
    expect(data).toMatchObject({ entries: 2, bytes: 5004, endedBy: null })
    expect(data.skipped.first).toEqual([{ name: '2', why: expect.stringContaining('larger than 1 MB') }])
  })

  test('more entries than the bound end the reading', () => {
    const { archive, data } = filtered([tarEntry('1'), tarEntry('2'), tarEntry('3'), tarEnd], {
      ...wide,
      entriesMax: 2,
    })
    expect(data).toMatchObject({ entries: 2, endedBy: expect.stringContaining('more than 2') })
    expect(filtered([archive]).data.entries).toBe(2)
  })

  test('skipped files are not read past without end, and one that is kept is read to its end', () => {
    const parts = [big('1'), big('2'), big('3'), big('4'), tarEnd]
    const { archive, data } = filtered(parts, { ...wide, bytesMax: 5000, readMaxBytes: 8000 })
    expect(data).toMatchObject({ entries: 1, endedBy: expect.stringContaining('reading ended after') })
    expect(filtered([archive]).data).toMatchObject({ entries: 1, bytes: 5000, endedBy: null })
  })
})

test('the names of skipped entries are escaped for terminals, and their number is limited', () => {
  const many = Array.from({ length: 50 }, (_, index) => tarEntry(`\u001b[31m\n${index}`, { kind: '6' }))
  const { skipped } = filtered([...many, tarEntry('null', { kind: '3' }), tarEnd]).data
  expect(skipped.count).toBe(51)
  expect(skipped.first.map(({ why }) => why)).toEqual([...Array(3).fill('a named pipe'), 'a device'])
  expect(skipped.first[0]?.name).toBe(String.raw`\u{1b}[31m\u{a}0`)
})
