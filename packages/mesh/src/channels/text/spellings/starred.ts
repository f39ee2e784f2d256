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
      // Marks do not count within a label.
      link: ({ href }, _label, text) =>
        `<${escapeEntities(href.replaceAll('|', '%7C'))}|${escapeEntities(text)}>`,
    }),
}

/** WhatsApp's marks; it has no links under other words. */
export const whatsappMarks: Spelling = {
  charsMax: 4096,
  keepsLinks: false,
  spell: (runs) =>
    spellMarked(runs, {
      ...starred,
      escape: withoutMarks,
      code: (text) => `\`${withoutTicks(text)}\``,
      block: (text) => `\`\`\`\n${partedTicks(text)}\n\`\`\``,
      // A whole address is as it is, but for the sign by which people are called: what parts words would end it, and the
      // marks in the rest of it would count. What is left of one that was cut is words.
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

/** Neither platform has a way to write a mark as it is: a joiner on both sides, which nobody sees, keeps it from being one. */
const joiner = '\u2060'
const looseMark = /(?<![\p{L}\p{N}])[*_~]|[*_~](?![\p{L}\p{N}])/gu

function withoutMarks(text: string, isLineStart: boolean): string {
  const words = withoutTicks(text).replace(looseMark, `${joiner}$&${joiner}`)
  return isLineStart ? words.replace(/^(\s*)>/, `$1${joiner}>${joiner}`) : words
}

/** A tick would begin code; this one looks like it. */
function withoutTicks(text: string): string {
  return text.replaceAll('`', '\u2035')
}

function partedTicks(text: string): string {
  return text.replace(/`(?=``)/g, `\`${joiner}`).replace(/`$/, `\`${joiner}`)
}

function escapeEntities(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
