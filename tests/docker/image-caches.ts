import { homedir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { cachesFolder } from '@flotilla/protocol/compiled-modules'

/** Where a mesh keeps images and what they are made of, so that what was prepared before the tests is found: a base takes a minute. */
export const imageCaches = join(cachesFolder(process.env['XDG_CACHE_HOME'], homedir()), 'flotilla', 'images')
