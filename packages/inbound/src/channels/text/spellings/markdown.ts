import { fenced, longestTicks } from '@flotilla/protocol/fenced-text'
import type { RunLink } from '../text-run.ts'
import { spellMarked } from './marked-lines.ts'
import type { LineMarks } from './marked-lines.ts'
import type { Spelling } from './spelling.ts'

/** A zero-width space, which is inserted to prevent mentions and commands. */
const parting = '\u200B'

/** Discord's Markdown. The written text mentions no user, shows no previews and hides no addresses. */
export const discordMarkdown: Spelling = {
  charsMax: 2000,
  keepsLinks: true,
  spell: (runs) => spellMarked(runs, { ...markdownMarks, block: parted, escape: escapeDiscord }),
}

/** CommonMark without HTML, for webhook clients. */
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
      // Only these beginnings are parted: links that the mesh writes begin with the letter of a scheme.
      .replace(/<(?=@|#|!|\/|a?:|t:|id:)/gi, `<${parting}`),
}

/** Writes a link. An address that is its own label is written in angle brackets if it is complete, else as text. */
function spellLink({ href, written }: RunLink, label: string, text: string): string {
  if (written === null) return `[${label}](<${href.replaceAll('@', '%40')}>)`
  return written === text ? `<${written.replaceAll('@', '%40')}>` : label
}

function escapeDiscord(text: string, isLineStart: boolean): string {
  const escaped = text.replace(/[\\`*_~|[\]<>]/g, '\\$&')
  return isLineStart ? escaped.replace(/^(\s*)([-#+])/, '$1\\$2') : escaped
}

/** Escapes markup. Leading spaces become no-break spaces, because they would turn a line into code. */
function escapeMarkdown(text: string, isLineStart: boolean): string {
  const escaped = text.replace(/[\\`*_~|[\]<>&]/g, '\\$&')
  if (!isLineStart) return escaped
  return escaped
    .replace(/^\s+/, (blanks) => '\u00A0'.repeat(blanks.length))
    .replace(/^(\u00A0*)([-#+=])/, '$1\\$2')
}

/** Parts backticks in code: on Discord three backticks close a block, no matter how many opened the block. */
function parted(text: string, language: string): string {
  const inner = text.replace(/`(?=``)/g, `\`${parting}`).replace(/`$/, `\`${parting}`)
  return `\`\`\`${language}\n${inner}\n\`\`\``
}
