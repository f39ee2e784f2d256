import MarkdownIt from 'markdown-it'
import type { Token } from 'markdown-it'
import { wholeUpTo } from './clean-text.ts'
import { createRunWriter } from './run-writer.ts'
import type { RunWriter } from './run-writer.ts'
import { tableText } from './table-text.ts'
import { joinRuns } from './text-run.ts'
import type { RunText, TextRun } from './text-run.ts'

/** The maximum depth of nested lists and quotes. Deeper levels are flattened. */
const nestingMax = 20

const languageChars = /[^A-Za-z0-9+#_.-]/g
/** The maximum length of the language of a code block, in characters. */
const languageCharsMax = 32

export interface ReadMarkdown extends RunText {
  /** True if `judgeLink` did not allow at least one link of the text. */
  readonly refusedLink: boolean
  /** The fence that would close the last code block; empty if no block is open at the end of the text. */
  readonly openFence: string
}

/** How many blocks' inline markup is parsed in one step. */
const blocksPerStep = 20
/** How much inline text of one block is parsed in one step, in UTF-16 code units. */
const paragraphCharsMax = 8000

/**
 * Parses CommonMark with tables and strikethrough; HTML is treated as text. `keepsLinks` is passed to
 * `createRunWriter`. Works in steps: first all blocks, then the inline markup of a few blocks in each step. Pure.
 */
export function createReadMarkdown(): (
  markdown: string,
  keepsLinks: boolean,
) => Generator<void, ReadMarkdown> {
  const blocks = createParser()
  blocks.core.ruler.enableOnly(['normalize', 'block'])
  const inlineParser = createParser()
  inlineParser.core.ruler.enableOnly(['inline', 'linkify', 'text_join'])
  return function* (markdown, keepsLinks) {
    const writer = createRunWriter(keepsLinks)
    const lists: ListState[] = []
    // Link reference definitions, which may be anywhere in the text.
    const definitions = {}
    const tokens = blocks.parse(markdown, definitions)
    yield
    const readWords = (some: Token[]) => {
      const state = new inlineParser.core.State('', inlineParser, definitions)
      state.tokens = some
      inlineParser.core.process(state)
    }
    const readPart = (content: string): readonly Token[] => {
      const { Token: Part } = new inlineParser.core.State('', inlineParser, definitions)
      const part = Object.assign(new Part('inline', '', 0), { content, children: [] })
      readWords([part])
      return part.children
    }
    for (let from = 0; from < tokens.length; from += blocksPerStep) {
      const some = tokens.slice(from, from + blocksPerStep)
      readWords(some.filter(({ content }) => content.length <= paragraphCharsMax))
      yield
      for (const long of some) if (long.content.length > paragraphCharsMax) yield* readInParts(long, readPart)
    }
    for (let index = 0; index < tokens.length; index += 1) {
      const token = tokens[index]!
      if (token.type === 'table_open') index = yield* readTable(writer, tokens, index)
      else readBlock(writer, lists, token)
      if (index % blocksPerStep === 0) yield
    }
    const openFence = openFenceOf(tokens, markdown)
    return { ...joinRuns(writer.runs), refusedLink: writer.refusedLink(), openFence }
  }
}

/** Returns the fence of an unclosed last block, or ''. Only a block outside of lists and quotes can stay open. */
function openFenceOf(tokens: readonly Token[], markdown: string): string {
  const last = tokens.at(-1)
  if (last?.type !== 'fence' || last.map === null) return ''
  const [begins, ends] = last.map
  const lastLine = markdown.split('\n')[ends - 1]?.trim() ?? ''
  const isClosed = ends - begins > 1 && lastLine.startsWith(last.markup) && /^(?:`+|~+)$/.test(lastLine)
  return isClosed ? '' : last.markup
}

/** Parses a long text in parts. Markup across the border of two parts stays as it is written. */
function* readInParts(token: Token, readPart: (content: string) => readonly Token[]): Generator<void, void> {
  if (token.type !== 'inline') return
  const { content } = token
  const children: Token[] = []
  for (let from = 0; from < content.length;) {
    let to = Math.min(content.length, from + paragraphCharsMax)
    const blank =
      to < content.length ? Math.max(...['\n', ' '].map((one) => content.lastIndexOf(one, to))) : to
    if (blank > from) to = blank
    const part = wholeUpTo(content.slice(from), to - from)
    for (const child of readPart(part)) children.push(child)
    from += part.length
    yield
  }
  token.children = children
}

function createParser() {
  const parser = new MarkdownIt({ html: false, linkify: true, maxNesting: nestingMax })
  // Only text with a scheme becomes a link: README.md is not a host name.
  parser.linkify.set({ fuzzyLink: false, fuzzyEmail: false })
  // Links without a scheme are not needed, and searching for such links takes quadratic time.
  parser.linkify.add('//', null)
  // All links are accepted while parsing: safe-link.ts decides on a link later, when its label is known too.
  parser.validateLink = () => true
  parser.normalizeLink = (address) => address
  parser.normalizeLinkText = (address) => address
  return parser
}

/** Reads plain text without markup. Pure. */
export function readPlain(text: string): RunText {
  const writer = createRunWriter(false)
  writer.write(text)
  return joinRuns(writer.runs)
}

interface ListState {
  readonly isOrdered: boolean
  next: number
  /** True if the list item's marker was written, so that its first paragraph follows on the same line. */
  isMarked: boolean
}

function readBlock(writer: RunWriter, lists: ListState[], token: Token): void {
  const list = lists.at(-1)
  switch (token.type) {
    case 'paragraph_open':
      if (list?.isMarked === true) list.isMarked = false
      else writer.gap(token.hidden ? 1 : 2)
      return
    case 'paragraph_close':
      return writer.gap(token.hidden ? 1 : 2)
    case 'heading_open':
      if (list?.isMarked === true) list.isMarked = false
      else writer.gap(2)
      return writer.change('bold', 1)
    case 'heading_close':
      writer.change('bold', -1)
      return writer.gap(2)
    case 'bullet_list_open':
    case 'ordered_list_open':
      writer.gap(lists.length === 0 ? 2 : 1)
      lists.push({
        isOrdered: token.type === 'ordered_list_open',
        next: Number(token.attrGet('start') ?? 1),
        isMarked: false,
      })
      return
    case 'bullet_list_close':
    case 'ordered_list_close':
      lists.pop()
      return writer.gap(lists.length === 0 ? 2 : 1)
    case 'list_item_open':
      writer.gap(1)
      if (list === undefined) return
      writer.write(`${'  '.repeat(lists.length - 1)}${list.isOrdered ? `${list.next}.` : '•'} `)
      list.next += 1
      list.isMarked = true
      return
    case 'list_item_close':
      if (list !== undefined) list.isMarked = false
      return writer.gap(1)
    case 'blockquote_open':
      writer.gap(2)
      return writer.changeQuote(1)
    case 'blockquote_close':
      writer.changeQuote(-1)
      return writer.gap(2)
    case 'fence':
    case 'code_block':
      writer.gap(1)
      writer.writeBlock(token.content.replace(/\n$/, ''), languageOf(token.info))
      return writer.gap(1)
    case 'hr':
      writer.gap(2)
      writer.write('———')
      return writer.gap(2)
    case 'inline':
      return readInline(writer, token.children ?? [])
  }
}

function readInline(writer: RunWriter, tokens: readonly Token[]): void {
  for (const token of tokens) {
    switch (token.type) {
      case 'softbreak':
      case 'hardbreak':
        writer.write('\n')
        break
      case 'code_inline':
        writer.write(token.content, { code: true, bold: false, italic: false, strike: false })
        break
      case 'strong_open':
        writer.change('bold', 1)
        break
      case 'strong_close':
        writer.change('bold', -1)
        break
      case 'em_open':
        writer.change('italic', 1)
        break
      case 'em_close':
        writer.change('italic', -1)
        break
      case 's_open':
        writer.change('strike', 1)
        break
      case 's_close':
        writer.change('strike', -1)
        break
      case 'link_open':
        writer.openLink(String(token.attrGet('href') ?? ''), token.info === 'auto')
        break
      case 'link_close':
        writer.closeLink()
        break
      case 'image':
        writeImage(writer, token)
        break
      default:
        writer.write(token.content)
    }
  }
}

/** Writes a picture as its text and address, because the mesh never fetches pictures for agents. */
function writeImage(writer: RunWriter, token: Token): void {
  const label = token.content === '' ? 'picture' : token.content
  if (writer.isInLink()) return writer.write(label)
  writer.openLink(String(token.attrGet('src') ?? ''), false)
  writer.write(label)
  writer.closeLink()
}

/** Writes a table and returns the index of its last token. */
function* readTable(writer: RunWriter, tokens: readonly Token[], open: number): Generator<void, number> {
  const rows: string[][] = []
  let index = open + 1
  for (; index < tokens.length && tokens[index]!.type !== 'table_close'; index += 1) {
    const token = tokens[index]!
    if (token.type === 'tr_open') rows.push([])
    if (index % blocksPerStep === 0) yield
    if (token.type === 'inline') rows.at(-1)?.push(cellText(token.children ?? []))
  }
  writer.gap(1)
  writer.writeBlock(yield* tableText(rows), '')
  writer.gap(1)
  return index
}

function cellText(tokens: readonly Token[]): string {
  const cell = createRunWriter(false)
  readInline(cell, tokens)
  return cell.runs.map(({ text }: TextRun) => text.replaceAll('\n', ' ')).join('')
}

function languageOf(info: string): string {
  return (/^\S*/.exec(info.trim())?.[0] ?? '').replace(languageChars, '').slice(0, languageCharsMax)
}
