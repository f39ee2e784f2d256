import type { ConversationPlace, OutgoingMessage } from '../../adapter.ts'

/** WhatsApp's limits in characters. Longer labels are cut. */
const buttonLabelMax = 20
/** WhatsApp's limit for the label of a row in a list, in characters. */
const rowLabelMax = 24
/** WhatsApp's limit for a text with buttons, in characters. A text with a list can have a full message's length. */
const buttonTextMax = 1024
/** WhatsApp's limit for the number of buttons below a text; more buttons become a list. */
const buttonsInTextMax = 3

/** Returns the body of a message for the Cloud API. Pure. */
export function outgoingBody({ place, text, buttons, replyToId }: OutgoingMessage): object {
  const head = {
    ...addressed(place),
    ...(replyToId === null ? {} : { context: { message_id: replyToId } }),
  }
  if (buttons.length === 0) return { ...head, type: 'text', text: { preview_url: false, body: text } }
  const body = { text }
  if (buttons.length <= buttonsInTextMax && text.length <= buttonTextMax) {
    const shown = buttons.map(({ label, value }) => ({
      type: 'reply',
      reply: { id: value, title: shortened(label, buttonLabelMax) },
    }))
    return { ...head, type: 'interactive', interactive: { type: 'button', body, action: { buttons: shown } } }
  }
  const rows = buttons.map(({ label, value }) => ({ id: value, title: shortened(label, rowLabelMax) }))
  const action = { button: 'Choose', sections: [{ rows }] }
  return { ...head, type: 'interactive', interactive: { type: 'list', body, action } }
}

export function addressed({ conversationId, isPrivate }: ConversationPlace): object {
  return {
    messaging_product: 'whatsapp',
    recipient_type: isPrivate ? 'individual' : 'group',
    to: conversationId,
  }
}

const characters = new Intl.Segmenter('und', { granularity: 'grapheme' })

function shortened(label: string, max: number): string {
  if (label.length <= max) return label
  let kept = ''
  for (const { segment } of characters.segment(label)) {
    if (kept.length + segment.length >= max) break
    kept += segment
  }
  return `${kept}…`
}
