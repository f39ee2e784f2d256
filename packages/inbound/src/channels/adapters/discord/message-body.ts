import type { ChannelButton } from '../../adapter.ts'

/** Discord's limits: characters of a button label, and buttons in a row. */
const labelMaxChars = 80
const rowMax = 5

const actionRow = 1
const button = 2
const secondary = 2
const suppressEmbeds = 4

/** Returns text and buttons in Discord's form, without mentions and link previews. Pure. */
export function messageBody(text: string, buttons: readonly ChannelButton[]) {
  return {
    content: text,
    allowed_mentions: { parse: [] },
    flags: suppressEmbeds,
    components: rows(buttons),
  }
}

function rows(buttons: readonly ChannelButton[]) {
  const all = buttons.map(({ label, value }, index) => ({
    type: button,
    style: secondary,
    label: label.slice(0, labelMaxChars),
    // Discord requires unique ids within a message.
    custom_id: `${index}:${value}`,
  }))
  return Array.from({ length: Math.ceil(all.length / rowMax) }, (_row, index) => ({
    type: actionRow,
    components: all.slice(index * rowMax, (index + 1) * rowMax),
  }))
}

/** Returns the value of the mesh's button with this Discord id. Pure. */
export function pressedValue(customId: string): string {
  return customId.slice(customId.indexOf(':') + 1)
}
