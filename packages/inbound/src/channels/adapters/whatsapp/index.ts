/** WhatsApp, through Meta's Cloud API. */

export { createWhatsAppAdapter } from './whatsapp-adapter.ts'
export type { WhatsAppConfig } from './whatsapp-adapter.ts'
