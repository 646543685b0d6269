/** Build step: makes the database template, so that no running process has to. */
import { defaultCacheDirectory } from './cache-directory.js';
import { ensureTemplate } from './template.js';

await ensureTemplate(process.env['VERITRAIN_CACHE_DIR'] ?? defaultCacheDirectory());
