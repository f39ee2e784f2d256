import { spellMarked } from './marked-lines.ts'
import type { LineMarks } from './marked-lines.ts'
import type { Spelling } from './spelling.ts'

/** Slack's mrkdwn. */
export const slackMrkdwn: Spelling = {
  charsMax: 3000,
  keepsLinks: true,
  spell: (runs) =>
    spellMarked(runs, {
      ...starred,
      escape: (text, isLineStart) => escapeEntities(withoutMarks(text, isLineStart)),
      code: (text) => `\`${escapeEntities(withoutTicks(text))}\``,
      block: (text) => `\`\`\`\n${escapeEntities(partedTicks(text))}\n\`\`\``,
      // Slack ignores markup in a label.
      link: ({ href }, _label, text) =>
        `<${escapeEntities(href.replaceAll('|', '%7C'))}|${escapeEntities(text)}>`,
    }),
}

/** WhatsApp's markup. It has no links with labels. */
export const whatsappMarks: Spelling = {
  charsMax: 4096,
  keepsLinks: false,
  spell: (runs) =>
    spellMarked(runs, {
      ...starred,
      escape: withoutMarks,
      code: (text) => `\`${withoutTicks(text)}\``,
      block: (text) => `\`\`\`\n${partedTicks(text)}\n\`\`\``,
      // A complete address is written unchanged, except for `@` before a group name, because a
      // separator or escapes would break the address. A cut address is plain text.
      link: ({ written }, label, text) => (written === text ? text.replace(calling, '%40') : label),
    }),
}

const calling = /@(?=everyone|here|channel)/gi

const starred: Pick<LineMarks, 'bold' | 'italic' | 'strike' | 'wantsEdges' | 'guard'> = {
  bold: '*',
  italic: '_',
  strike: '~',
  wantsEdges: true,
  guard: (spelled) => spelled.replace(calling, '@\u200B'),
}

/** A word joiner, which disables a mark between two of them, because neither platform can escape a mark. */
const joiner = '\u2060'
const looseMark = /(?<![\p{L}\p{N}])[*_~]|[*_~](?![\p{L}\p{N}])/gu

function withoutMarks(text: string, isLineStart: boolean): string {
  const plain = withoutTicks(text).replace(looseMark, `${joiner}$&${joiner}`)
  return isLineStart ? plain.replace(/^(\s*)>/, `$1${joiner}>${joiner}`) : plain
}

/** Replaces backticks, which would begin code, by a character that looks like a backtick. */
function withoutTicks(text: string): string {
  return text.replaceAll('`', '\u2035')
}

function partedTicks(text: string): string {
  return text.replace(/`(?=``)/g, `\`${joiner}`).replace(/`$/, `\`${joiner}`)
}

function escapeEntities(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
