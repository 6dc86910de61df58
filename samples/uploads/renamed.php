<?php
// panel
$x1 = 'blue';
$user = 'anna';
if ($_POST['p'] != $x1) { header('HTTP/1.0 404 Not Found'); exit; }
$q = getcwd();
foreach (scandir($q) as $entry) {
    echo $entry, ' ', filesize($entry), ' ', date('Y-m-d', filemtime($entry)), "\n";
}
echo 'by ', $user;
