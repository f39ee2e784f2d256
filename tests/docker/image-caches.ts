import { homedir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { cachesFolder } from '@flotilla/protocol/compiled-modules'

/**
 * Folder in which a mesh caches images and their sources. The tests share it with this machine's user, because a
 * base image takes a minute.
 */
export const imageCaches = join(cachesFolder(process.env['XDG_CACHE_HOME'], homedir()), 'flotilla', 'images')
