// A short time without disk space.
import { DISK_SCENE } from './scenes/disk-scene.ts';
import { testScene } from './scenes/scene-tests.ts';

testScene('a hub under load, when the disk of its PostgreSQL is full', DISK_SCENE);
