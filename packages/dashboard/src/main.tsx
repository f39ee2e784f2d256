import { createRoot } from 'react-dom/client'
import { config } from 'zod/mini'
import { App } from './app/app.tsx'
import { createServices } from './app/services.ts'
import { applyTheme, readTheme } from './design/theme.ts'
import './design/tokens.css'
import './design/base.css'
import './design/buttons.css'
import './design/cards.css'
import './design/fields.css'
import './design/table.css'
import './design/parts.css'
import './design/overlays.css'
import './design/layout.css'
import './design/page.css'
import './design/figures.css'
import './design/list-rows.css'
import './design/chat.css'
import './design/conversations.css'
import './design/narrow-screens.css'

// The page's content security policy forbids `eval`, and an attempt by zod would be reported as a violation.
config({ jitless: true })
applyTheme(readTheme())
const services = createServices(window.location)
const root = document.querySelector('#app')
if (root) createRoot(root).render(<App services={services} />)
services.start()
