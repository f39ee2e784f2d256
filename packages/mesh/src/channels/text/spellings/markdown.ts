import { fenced, longestTicks } from '@flotilla/protocol/fenced-text'
import type { RunLink } from '../text-run.ts'
import { spellMarked } from './marked-lines.ts'
import type { LineMarks } from './marked-lines.ts'
import type { Spelling } from './spelling.ts'

/** Parts what would call everybody, somebody or a command; as `‹ZWSP›`, which nobody sees. */
const parting = '\u200B'

/** Discord's own Markdown: nothing in it calls anybody, shows a preview or hides an address. */
export const discordMarkdown: Spelling = {
  charsMax: 2000,
  keepsLinks: true,
  spell: (runs) => spellMarked(runs, { ...markdownMarks, block: parted, escape: escapeDiscord }),
}

/** CommonMark for whoever reads it, without HTML. */
export const plainMarkdown: Spelling = {
  charsMax: 16_000,
  keepsLinks: true,
  spell: (runs) => spellMarked(runs, { ...markdownMarks, block: fenced, escape: escapeMarkdown }),
}

const markdownMarks: Omit<LineMarks, 'block' | 'escape'> = {
  bold: '**',
  italic: '*',
  strike: '~~',
  code: (text) => {
    const fence = '`'.repeat(longestTicks(text) + 1)
    return /^`|`$/.test(text) ? `${fence} ${text} ${fence}` : fence + text + fence
  },
  link: spellLink,
  wantsEdges: false,
  guard: (spelled) =>
    spelled
      .replace(/@(?=everyone|here)/gi, `@${parting}`)
      // What is a link of ours begins with a letter of its scheme.
      .replace(/<(?=@|#|!|\/|a?:|t:|id:)/gi, `<${parting}`),
}

/** An address that is its own label stands between angles where all of it is there; else it is words. */
function spellLink({ href, written }: RunLink, label: string, text: string): string {
  if (written === null) return `[${label}](<${href.replaceAll('@', '%40')}>)`
  return written === text ? `<${written.replaceAll('@', '%40')}>` : label
}

function escapeDiscord(text: string, isLineStart: boolean): string {
  const escaped = text.replace(/[\\`*_~|[\]<>]/g, '\\$&')
  return isLineStart ? escaped.replace(/^(\s*)([-#+])/, '$1\\$2') : escaped
}

/** Blanks that begin a line would make it code. */
function escapeMarkdown(text: string, isLineStart: boolean): string {
  const escaped = text.replace(/[\\`*_~|[\]<>&]/g, '\\$&')
  if (!isLineStart) return escaped
  return escaped
    .replace(/^\s+/, (blanks) => '\u00A0'.repeat(blanks.length))
    .replace(/^(\u00A0*)([-#+=])/, '$1\\$2')
}

/** Three ticks end a block there, however many began it. */
function parted(text: string, language: string): string {
  const inner = text.replace(/`(?=``)/g, `\`${parting}`).replace(/`$/, `\`${parting}`)
  return `\`\`\`${language}\n${inner}\n\`\`\``
}
